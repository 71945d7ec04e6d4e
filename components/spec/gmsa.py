"""Options of group managed service accounts (gMSA) for Windows pods."""

from typing import Annotated, Any

from pydantic import Field

from components.spec.options import Model


class CcgPlugin(Model):
    """The plug-in of Container Credential Guard that gives Windows machines an account of the domain.

    Its DLL is an entry of `artifacts.entries` with the name ccg-plugin, this version and os: windows; or the machines'
    image has it, registered (`preinstalled`).
    """

    clsid: Annotated[str, Field(pattern=r"^\{[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}$")]
    """COM class of the plug-in, in braces, as its publisher names it; PluginGUID of the credential specs."""
    version: Annotated[str, Field(min_length=1)] | None = None
    """Version of the plug-in, as in artifacts.entries. Required without preinstalled."""
    preinstalled: bool = False
    """Whether the image of the Windows machines has the plug-in, registered: nothing is downloaded."""


class NamedGmsa(Model):
    """A gMSA that pods may have by its name."""

    contents: dict[str, Any]
    """The JSON that New-CredentialSpec writes, with HostAccountConfig. No secret: who may read pods reads it."""
    users: list[str] = []
    """Service accounts whose pods may have it, as NAMESPACE/NAME."""


class Gmsa(Model):
    """Group managed service accounts (gMSA) for Windows pods. Kubernetes 1.30 and newer."""

    credential_specs: dict[str, NamedGmsa] = {}
    """Credential specs by name, which pods write as gmsaCredentialSpecName."""
    plugin: CcgPlugin | None = None
    """Plug-in that asks for the gMSA's password in place of the machine, which is in no domain. Default: none."""
    keep_policy: bool = False
    """Refuse pods with a gMSA without a plug-in too: after it was removed, and for images that have one."""

    @property
    def judges_pods(self) -> bool:
        """Whether the API server refuses pods with a gMSA that they may not have."""
        return bool(self.credential_specs or self.plugin or self.keep_policy)
