"""Private ranges, and the clients of a private API in them: those in networks that are connected with the cluster's."""

from ipaddress import IPv4Network

from components.spec.models import ApiAccess, ClusterSpec

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""Private ranges: RFC 1918, and RFC 6598 (shared address space), which clouds also route inside a network."""


def is_private(addresses: IPv4Network) -> bool:
    """Return whether a range has private addresses only."""
    return any(addresses.subnet_of(each) for each in PRIVATE)


def inside_clients(spec: ClusterSpec) -> tuple[IPv4Network, ...]:
    """Return the ranges of api.allow that reach a private API: private ones, and those in network.outside."""
    if spec.api.access is ApiAccess.PUBLIC:
        return ()
    outside = spec.network.outside
    return tuple(each for each in spec.api.allow if is_private(each) or any(map(each.subnet_of, outside)))
