"""References of node.*: values that a machine finds out itself."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import announcing
from failure import Failure

if TYPE_CHECKING:
    from run import Run

METADATA_HOST = "169.254.169.254"


def _address(run: Run) -> str:
    """Return the source address of packets to the metadata service; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((METADATA_HOST, 80))
        return probe.getsockname()[0]


def _pod_subnet(run: Run) -> str:
    # flanneld's file has the gateway (10.244.3.1/24), not the network address.
    place = run.path("/run/flannel/subnet.env")
    lines = place.read_text().splitlines() if place.exists() else []
    subnets = [line.partition("=")[2] for line in lines if line.startswith("FLANNEL_SUBNET=")]
    if not subnets:
        raise Failure("network-missing", f"{place} has no FLANNEL_SUBNET")
    return str(ipaddress.ip_interface(subnets[0]).network)


RESOLVED, RESOLV_CONF = "/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"


def _resolv_conf(run: Run) -> str:
    """Return the file for pods: with systemd-resolved /etc/resolv.conf has a loopback address, in a pod its own."""
    link = run.path(RESOLV_CONF)
    to_resolved = link.is_symlink() and "systemd/resolve" in str(link.readlink())
    return RESOLVED if to_resolved or run.path(RESOLVED).exists() else RESOLV_CONF


def _issuer(run: Run, part: str) -> str:
    """Return a part of the issuer in the secret `pki`, which has it once its public documents exist."""
    secret = run.value("facts.pki_secret")
    found = json.loads(run.secret(secret)).get("issuer")  # not as a member: its lines would be redacted as secrets
    if not found:
        raise Failure("secret-unavailable", f"secret {secret} has no issuer yet")
    return found[part]


FOUND: dict[str, Callable[[Run], str]] = {
    "address": _address,
    "address_range": lambda run: f"{_address(run)}/32",
    "provider_id": lambda run: run.cloud.provider_id(),
    "pod_subnet": _pod_subnet,
    "resolv_conf": _resolv_conf,
    "issuer": lambda run: _issuer(run, "url"),
    "issuer_keys": lambda run: _issuer(run, "keys"),
    "bootstrap_token": lambda run: announcing.announce(run, run.value("facts.join_secret")),
}
"""Function that finds each value; Run caches the result until a step fails."""
