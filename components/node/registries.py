"""Credential providers: programs that get registry credentials for the kubelet with the machine's identity."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.node.kinds import Step, step
from components.node.layout import LAYOUTS
from components.node.role import Role


@dataclass(frozen=True)
class Provider:
    """A cloud's program, named like its download, and the image patterns it serves (KEP-2133)."""

    program: str
    images: tuple[str, ...]


PROVIDERS: dict[str, Provider] = {
    "ecr": Provider(
        "ecr-credential-provider",
        (
            "*.dkr.ecr.*.amazonaws.com",
            "*.dkr.ecr.*.amazonaws.com.cn",
            "*.dkr.ecr-fips.*.amazonaws.com",
            "public.ecr.aws",
        ),
    ),
}
"""Providers by their name in registry_credentials; their versions are in the release tables."""


def wanted(role: Role) -> Iterator[Provider]:
    """Return the credential providers of a machine."""
    names = dict.fromkeys(role.spec.registry_credentials)
    return (PROVIDERS[name] for name in names if name in PROVIDERS)


def folder(role: Role) -> str:
    """Return the folder of the providers' programs."""
    return LAYOUTS[role.system].credential_providers


def steps(role: Role) -> tuple[Step, ...]:
    """Return the file step with the kubelet's CredentialProviderConfig; empty without registry_credentials."""
    if not role.spec.registry_credentials:
        return ()
    content = {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [
            {
                # the file's whole name: on Windows a kubelet before 1.30 adds no .exe (kubernetes pull request 120291)
                "name": provider.program + LAYOUTS[role.system].exe,
                "matchImages": list(provider.images),
                "defaultCacheDuration": "12h",
                "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            }
            for provider in wanted(role)
        ],
    }
    return (step("file", "credential-providers", path=_config(role), format="json", content=content),)


def flags(role: Role) -> list[str]:
    """Return the kubelet's flags; its configuration has no fields for providers."""
    if not role.spec.registry_credentials:
        return []
    return [
        f"--image-credential-provider-config={_config(role)}",
        f"--image-credential-provider-bin-dir={folder(role)}",
    ]


def _config(role: Role) -> str:
    return LAYOUTS[role.system].path(folder(role), "config.json")
