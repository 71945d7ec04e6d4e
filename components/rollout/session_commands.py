"""Commands of the clouds' session services, which reach machines without an open port.

AWS: Systems Manager Session Manager. Its agent on the machine holds a connection to the service, and forwards to a port
of the machine itself. GCP: Identity-Aware Proxy (IAP), which connects to the machine from addresses of Google
(CloudFacts.session_sources). Azure: Bastion, a host in the network or in a peered one, which connects to the machine.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from components.spec.existing import ExistingNetwork

AWS, AZURE, GCP = "aws", "azure", "gcp"
LOCALHOST = "127.0.0.1"


@dataclass(frozen=True)
class MachinePlace:
    """Where the cloud's command finds a machine."""

    cloud: str
    instance: str
    """AWS: id of the instance. Azure: resource id of the machine. GCP: name of the instance."""
    scope: str
    """AWS: region. Azure: resource id of the Bastion host. GCP: project."""
    zone: str = ""
    """GCP only."""
    profile: str = ""
    """AWS: profile of the shared configuration; empty for that of the environment."""
    hint: str = ""
    """Why the command may use another identity than the stack; empty if it does not."""


@dataclass(frozen=True)
class _Service:
    forward: Callable[[MachinePlace, int, int], list[str]]
    shell: Callable[[MachinePlace], list[str]] | None
    """None: the service reaches the API only."""
    programs: dict[str, str]
    outdated: Callable[[], str] = lambda: ""
    """Returns which program is too old, and where to get another; empty if none is, or if it does not tell."""


OWN_CREDENTIALS = ("accessKey", "assumeRole", "sharedConfigFiles", "sharedCredentialsFiles", "endpoints")
"""Prefixes of settings of the provider of AWS that choose credentials which the command line does not use."""
ROLES = ("assumeRoles", "assumeRoleWithWebIdentity")
"""Such settings in full."""


def credentials_hint(settings: Iterable[str]) -> str:
    """Return why `aws ssm` may use another identity than the provider of AWS. settings: names of those that are set."""
    own = sorted(f"aws:{name}" for name in settings if name.startswith(OWN_CREDENTIALS))
    if not own:
        return ""
    return (
        f"the stack file sets {', '.join(own)}, which `aws ssm` does not use: write a profile with role_arn into"
        " ~/.aws/config and name it in aws:profile instead"
    )


def _aws(place: MachinePlace) -> list[str]:
    chosen = ["--profile", place.profile] if place.profile else []
    return ["aws", "ssm", "start-session", "--target", place.instance, "--region", place.scope, *chosen]


def _aws_forward(place: MachinePlace, port: int, local_port: int) -> list[str]:
    # parameters of the document: aws ssm describe-document --name AWS-StartPortForwardingSession
    parameters = {"portNumber": [str(port)], "localPortNumber": [str(local_port)]}
    document = "AWS-StartPortForwardingSession"
    return [*_aws(place), "--document-name", document, "--parameters", json.dumps(parameters)]


def azure_place(machine: str, cluster: str, existing: ExistingNetwork | None) -> MachinePlace:
    """Return where `az` finds a machine. machine: its resource id. existing: the user's network."""
    if existing and existing.bastion:
        return MachinePlace(AZURE, machine, existing.bastion.id)
    group = machine.partition("/providers/")[0]
    return MachinePlace(AZURE, machine, f"{group}/providers/Microsoft.Network/bastionHosts/{cluster}")


def _azure_forward(place: MachinePlace, port: int, local_port: int) -> list[str]:
    _, _, subscription, _, group, *_, name = place.scope.split("/")
    host = ["--name", name, "--resource-group", group, "--subscription", subscription]
    target = ["--target-resource-id", place.instance, "--resource-port", str(port)]
    return ["az", "network", "bastion", "tunnel", *host, *target, "--port", str(local_port)]


def _gcp(place: MachinePlace) -> list[str]:
    return ["--zone", place.zone, "--project", place.scope]


def _gcp_forward(place: MachinePlace, port: int, local_port: int) -> list[str]:
    local = f"{LOCALHOST}:{local_port}"
    words = ["gcloud", "compute", "start-iap-tunnel", place.instance, str(port)]
    return [*words, "--local-host-port", local, *_gcp(place)]


def _gcp_shell(place: MachinePlace) -> list[str]:
    return ["gcloud", "compute", "ssh", place.instance, "--tunnel-through-iap", *_gcp(place)]


_PLUGIN = "docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-working-with-install-plugin.html"
OLDEST_PLUGIN = (1, 2, 764, 0)
"""Oldest supported version, the first that signs the opening of its connection (Systems Manager user guide, "Session
Manager plugin latest version and release history")."""


def _old_plugin() -> str:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)\.(\d+)\s*$", _printed(["session-manager-plugin", "--version"]))
    if found is None or tuple(map(int, found.groups())) >= OLDEST_PLUGIN:
        return ""
    oldest = ".".join(map(str, OLDEST_PLUGIN))
    return (
        f"session-manager-plugin {found[0].strip()} is too old: AWS supports {oldest} and newer; install a newer"
        f" package: https://{_PLUGIN}"
    )


def _printed(words: list[str]) -> str:
    """Return what a program prints; empty if it fails."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


_SERVICES = {
    AWS: _Service(
        _aws_forward,
        _aws,
        {
            "aws": "the AWS command line, package awscli: https://aws.amazon.com/cli/",
            "session-manager-plugin": f"the Session Manager plugin, package session-manager-plugin: https://{_PLUGIN}",
        },
        _old_plugin,
    ),
    AZURE: _Service(
        _azure_forward,
        None,
        {
            "az": "the Azure command line, package azure-cli: https://learn.microsoft.com/cli/azure/install-azure-cli"
            " (and its extension: az extension add --upgrade --name bastion)"
        },
    ),
    GCP: _Service(
        _gcp_forward,
        _gcp_shell,
        {
            "gcloud": "the Google Cloud command line, package google-cloud-cli: https://cloud.google.com/sdk/docs/install"
        },
    ),
}


def forward(place: MachinePlace, port: int, local_port: int) -> list[str]:
    """Return the command that forwards a port of this host's loopback address to a port of a machine, until it ends."""
    return _SERVICES[place.cloud].forward(place, port, local_port)


def shell(place: MachinePlace) -> list[str]:
    """Return the command that opens a shell on a machine in this terminal. Raises ValueError if the cloud has none."""
    opened = _SERVICES[place.cloud].shell
    if opened is None:
        raise ValueError(f"sessions on {place.cloud} reach the API only")
    return opened(place)


def missing(cloud: str) -> str:
    """Return which program for sessions this host lacks or has too old, and where to get it; empty if it has all."""
    service = _SERVICES[cloud]
    lacking = [(name, source) for name, source in service.programs.items() if shutil.which(name) is None]
    return "; ".join(f"{name} is not on PATH; install {source}" for name, source in lacking) or service.outdated()
