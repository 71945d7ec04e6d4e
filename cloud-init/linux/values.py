"""References of node.*: what a machine finds out about itself."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from failure import Failure

if TYPE_CHECKING:
    from run import Run

METADATA_HOST = "169.254.169.254"


def _address(run: Run) -> str:
    """The address that packets to the metadata service would leave from; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((METADATA_HOST, 80))
        return probe.getsockname()[0]


def _pod_subnet(run: Run) -> str:
    # flanneld names the subnet by its gateway (10.244.3.1/24); a range starts with its network.
    place = run.path("/run/flannel/subnet.env")
    lines = place.read_text().splitlines() if place.exists() else []
    subnets = [line.partition("=")[2] for line in lines if line.startswith("FLANNEL_SUBNET=")]
    if not subnets:
        raise Failure("network-missing", f"{place} has no FLANNEL_SUBNET")
    return str(ipaddress.ip_interface(subnets[0]).network)


FOUND: dict[str, Callable[[Run], str]] = {
    "address": _address,
    "address_range": lambda run: f"{_address(run)}/32",
    "provider_id": lambda run: run.cloud.provider_id(),
    "pod_subnet": _pod_subnet,
    "bootstrap_token": lambda run: run.secret(run.value("facts.join_secret")),
}
"""How this system finds each; once a try."""
