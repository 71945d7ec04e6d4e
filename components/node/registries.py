"""Credential providers: programs that get registry credentials for the kubelet with the machine's identity."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components import releases
from components.clouds import GCP_METADATA
from components.node import egress
from components.node.kinds import Step, ref, step
from components.node.layout import LAYOUTS
from components.node.role import Role


@dataclass(frozen=True)
class Provider:
    """A cloud's program, named like its download, and the image patterns it serves (KEP-2133)."""

    program: str
    images: tuple[str, ...]
    cache: str
    """Time for which the kubelet keeps credentials whose answer names none."""
    version: str | None = None
    """None: the one of the release tables, by Kubernetes minor."""


PROVIDERS: dict[str, Provider] = {
    "ecr": Provider(
        "ecr-credential-provider",
        (
            "*.dkr.ecr.*.amazonaws.com",
            "*.dkr.ecr.*.amazonaws.com.cn",
            "*.dkr.ecr-fips.*.amazonaws.com",
            "public.ecr.aws",
        ),
        "12h",
    ),
    "acr": Provider("azure-acr-credential-provider", ("*.azurecr.io",), "10m", releases.ACR_PROVIDER),
    # it answers for each image that it is asked about, so the patterns must name Google's registries only
    "gar": Provider("auth-provider-gcp", ("gcr.io", "*.gcr.io", "*.pkg.dev"), "1m", releases.GCP_PROVIDER),
}
"""Providers by their name in registry_credentials.

Patterns and times are those of the publishers: cloud-provider-azure, examples/out-of-tree (Azure's public cloud only);
kops, nodeup/pkg/model/kubelet.go for Google. Azure's program says 60 minutes in its answers, Google's 0.
"""


def wanted(role: Role) -> Iterator[Provider]:
    """Return the credential providers of a machine.

    Control planes have none on Azure: it needs facts of the user-data, which existing control planes keep for life.
    """
    names = dict.fromkeys(role.spec.registry_credentials)
    return (PROVIDERS[name] for name in names if name in PROVIDERS and not (name == "acr" and role.is_control_plane))


def folder(role: Role) -> str:
    """Return the folder of the providers' programs."""
    return LAYOUTS[role.system].credential_providers


def steps(role: Role) -> tuple[Step, ...]:
    """Return the file step with the kubelet's CredentialProviderConfig; empty without registry_credentials."""
    providers = tuple(wanted(role))
    if not providers:
        return ()
    content = {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [
            {
                # the file's whole name: on Windows a kubelet before 1.30 adds no .exe (kubernetes pull request 120291)
                "name": provider.program + LAYOUTS[role.system].exe,
                "matchImages": list(provider.images),
                "defaultCacheDuration": provider.cache,
                "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
                **_arguments(role, provider),
            }
            for provider in providers
        ],
    }
    return (step("file", "credential-providers", path=_config(role), format="json", content=content),)


def _arguments(role: Role, provider: Provider) -> dict[str, Any]:
    """Return `args` and `env` of a provider."""
    if provider is PROVIDERS["acr"]:
        return {"args": [_identity_file(role)]}
    if provider is not PROVIDERS["gar"]:
        return {}
    environment = egress.variables(role).get("environment", {})
    # it asks for the name with a last dot, which no entry without one matches (golang.org/x/net/http/httpproxy)
    direct = [{"name": "NO_PROXY", "value": f"{environment['NO_PROXY']},{GCP_METADATA}."}] if environment else []
    return {"args": ["get-credentials"], **({"env": direct} if direct else {})}


def identity(role: Role) -> tuple[Step, ...]:
    """Return the file step that names the identity with which Azure's provider pulls; the file has no secret."""
    if PROVIDERS["acr"] not in wanted(role):
        return ()
    content = {
        "cloud": "AzurePublicCloud",
        "tenantId": ref("facts.tenant"),
        "useManagedIdentityExtension": True,
        "userAssignedIdentityID": ref("facts.registry_identity"),
    }
    return (step("file", "registry-identity", path=_identity_file(role), format="json", content=content),)


def flags(role: Role) -> list[str]:
    """Return the kubelet's flags; its configuration has no fields for providers."""
    if not tuple(wanted(role)):
        return []
    return [
        f"--image-credential-provider-config={_config(role)}",
        f"--image-credential-provider-bin-dir={folder(role)}",
    ]


def _config(role: Role) -> str:
    return LAYOUTS[role.system].path(folder(role), "config.json")


def _identity_file(role: Role) -> str:
    return LAYOUTS[role.system].path(folder(role), "azure.json")
