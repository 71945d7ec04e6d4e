"""Names: one rule each, so that nothing else in the project builds one."""

import hashlib

CONTROL_PLANE = "control-plane"
"""Group name of the control-plane machines; no pool may have it."""

MAX_NODE_NAME = 15
"""NetBIOS: a Windows computer name is at most 15 characters (SRV-12)."""

ZONE_SUFFIX = "mullion.internal"
"""Private DNS zones end in it; `.internal` is reserved for private use (ICANN resolution 2024.07.29.06)."""


def machine_name(group: str, index: int) -> str:
    """Node name, host name and resource name of a machine: stable, lower case, unique in the cluster."""
    return f"{group}-{index}"


def zone_name(cluster: str) -> str:
    """Private DNS zone of a cluster."""
    return f"{cluster}.{ZONE_SUFFIX}"


def api_host(cluster: str) -> str:
    """Name of the cluster's API endpoint in its private zone; it stands in certificates and kubeconfigs."""
    return f"api.{zone_name(cluster)}"


def within(limit: int, name: str) -> str:
    """A name of at most so many characters: the end of a longer one gives way to eight digits of its sha256."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
