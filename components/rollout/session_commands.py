"""Commands of the clouds' session services, which reach machines without an open port.

AWS: Systems Manager Session Manager. Its agent on the machine holds a connection to the service, and forwards to a port
of the machine itself. GCP: Identity-Aware Proxy (IAP), which connects to the machine from addresses of Google
(CloudFacts.session_sources). Azure: Bastion, a host in the network or in a peered one, which connects to the machine.
"""

import json
import shutil
from collections.abc import Callable
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


@dataclass(frozen=True)
class _Service:
    forward: Callable[[MachinePlace, int, int], list[str]]
    shell: Callable[[MachinePlace], list[str]] | None
    """None: the service reaches the API only."""
    programs: dict[str, str]


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
_SERVICES = {
    AWS: _Service(
        _aws_forward,
        _aws,
        {
            "aws": "the AWS command line, package awscli: https://aws.amazon.com/cli/",
            "session-manager-plugin": f"the Session Manager plugin, package session-manager-plugin: https://{_PLUGIN}",
        },
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
    """Return which program for sessions this host lacks, and where to get it; empty if it has all."""
    lacking = [(name, source) for name, source in _SERVICES[cloud].programs.items() if shutil.which(name) is None]
    return "; ".join(f"{name} is not on PATH; install {source}" for name, source in lacking)
