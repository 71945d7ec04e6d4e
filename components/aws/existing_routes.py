"""Ways out of an existing VPC's subnets: the routes of their tables, compared with `network.egress`."""

from typing import Any

from components.spec.models import Egress
from components.wiring.existing_network import Lookups, listed

_ANYWHERE, _HALVES = "0.0.0.0/0", ("0.0.0.0/1", "128.0.0.0/1")
_LOCAL = "local"
"""Target of the route to the VPC's own range."""
_TARGETS = (
    *("natGatewayId", "transitGatewayId", "networkInterfaceId", "vpcEndpointId", "vpcPeeringConnectionId"),
    *("localGatewayId", "carrierGatewayId", "coreNetworkArn", "gatewayId"),
)
"""Members of a route with its target (provider's schema, getRouteTable)."""
_INTERNET, _NAT, _ENDPOINT = "igw-", "nat-", "vpce-"
"""Prefixes of targets."""


def look_at_routes(lookups: Lookups, at: str, subnet: str, table: dict[str, Any]) -> None:
    """Add a problem if a subnet's routes do not fit. at: its path. Ranges of prefix lists are unknown: a warning."""
    public, egress = at.startswith("public"), lookups.spec.network.egress
    closed = egress is Egress.NONE and not public
    ways, named = default_targets(table), _by_prefix_list(table)
    if named and (closed or not ways):
        lookups.warn(
            f"network.existing.{at}: a route of {subnet} to {', '.join(named)} has a prefix list, whose ranges are not"
            " looked up; they may be the way to the internet"
        )
    if closed:
        _closed(lookups, at, subnet, table)
    elif not ways and named:
        return
    elif public or egress is Egress.PUBLIC:
        if not ways or not all(to.startswith(_INTERNET) for to in ways):
            to = ", ".join(ways) or "nothing"
            wrong = f"the default route of {subnet} leads to {to}, not to an internet gateway"
            lookups.wrong(at, wrong, "write the id of a public subnet, or let the VPC's owner change its route table")
    elif not ways or any(to.startswith(_INTERNET) for to in ways):
        to = ", ".join(ways) or "none"
        wrong = f"{subnet} has no default route that machines without public addresses can use: {to}"
        lookups.wrong(at, wrong, "let its owner route 0.0.0.0/0 to a NAT gateway, a transit gateway or a firewall")


def _closed(lookups: Lookups, at: str, subnet: str, table: dict[str, Any]) -> None:
    wide = [to for each, to in _routes(table) if each in (_ANYWHERE, *_HALVES) and to.startswith((_INTERNET, _NAT))]
    if wide:
        to = ", ".join(dict.fromkeys(wide))
        wrong = f"the default route of {subnet} leads to {to}, and egress: none says that there is no way out"
        lookups.wrong(at, wrong, "write egress: nat, or let the VPC's owner remove the route")
    elif lookups.existing.service_zones and not _leads_elsewhere(table):
        wrong = f"no route of {subnet} leads to another VPC, and service_zones names endpoints there"
        fix = "let the VPC's owner route the range of that VPC to a transit gateway or peering connection"
        lookups.wrong(at, wrong, fix)


def default_targets(table: dict[str, Any]) -> list[str]:
    """Return the target of a table's default route, or those of its two halves; none if it has no default route."""
    known = {destination: to for destination, to in _routes(table) if to}
    if _ANYWHERE in known:
        return [known[_ANYWHERE]]
    return list(dict.fromkeys(known[each] for each in _HALVES)) if set(_HALVES) <= set(known) else []


def _routes(table: dict[str, Any]) -> list[tuple[str, str]]:
    """Return range and target of each route; the range of a route to a prefix list is empty."""
    return [(str(each.get("cidrBlock") or ""), _target(each)) for each in listed(table, "routes")]


def _by_prefix_list(table: dict[str, Any]) -> list[str]:
    """Return the targets of routes to prefix lists, without gateway endpoints, whose lists are AWS's."""
    found = [_target(each) for each in listed(table, "routes") if each.get("destinationPrefixListId")]
    return list(dict.fromkeys(to for to in found if to and not to.startswith(_ENDPOINT)))


def _target(route: dict[str, Any]) -> str:
    """Return the target of a route; empty if it has none."""
    return next((str(route[target]) for target in _TARGETS if route.get(target)), "")


def _leads_elsewhere(table: dict[str, Any]) -> bool:
    """Return whether a route leads out of the VPC, other than that to a gateway endpoint, which has a prefix list."""
    targets = [(_target(route), bool(route.get("destinationPrefixListId"))) for route in listed(table, "routes")]
    return any(to not in ("", _LOCAL) and not (prefixes and to.startswith(_ENDPOINT)) for to, prefixes in targets)
