"""Networks, subnetworks, routes, routers and Cloud NAT."""

import ipaddress
import re
from typing import Any

from sandbox.cloud import Request, ResourceType, Unique
from sandbox.gcp.names import (
    AUTO_NAME,
    NAMED,
    NAT,
    NETWORK,
    ROUTE,
    ROUTER,
    SUBNETWORK,
    full_link,
    id_of,
    in_use,
    invalid,
    link,
    own_name,
    points_to,
)
from sandbox.gcp.quotas import QUOTAS

GATEWAY = "default-internet-gateway"
LISTED = "LIST_OF_SUBNETWORKS"
_HOPS = ("nextHopGateway", "nextHopIlb", "nextHopInstance", "nextHopIp", "nextHopVpnTunnel")
_IN_NETWORK = points_to(NETWORK, "network")


def network_range(field: str, text: str) -> ipaddress.IPv4Network:
    """Return the network of a range. Raises Refusal for the field."""
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise invalid(field, text, "Must be a valid IPv4 CIDR address range in canonical form.") from None


def subnetworks(request: Request, network: str) -> dict[str, ipaddress.IPv4Network]:
    """Return ranges of a network's subnetworks by id, without the one that the request creates."""
    found = [one for one in request.cloud_state.referrers(NETWORK, network) if one.type == SUBNETWORK]
    return {
        one.id: ipaddress.IPv4Network(one.inputs["ipCidrRange"]) for one in found if one.sequence != request.sequence
    }


def _subnetwork_range(request: Request) -> None:
    text = request.inputs.get("ipCidrRange") or ""
    block = network_range("ipCidrRange", text)
    if not 4 <= block.prefixlen <= 29:
        raise invalid("ipCidrRange", text, "Must be a range of 8 addresses or more: a prefix of /4 to /29.")
    if not block.is_private:
        return
    for other, taken in subnetworks(request, _IN_NETWORK.ids(request)[0]).items():
        if block.overlaps(taken):
            name, region = other.rpartition("/")[2], other.split("/")[3]
            why = f"Invalid IPCidrRange: {text} conflicts with existing subnetwork '{name}' in region '{region}'."
            raise invalid("ipCidrRange", text, why)


def _grown(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the properties that force a replacement: a range may only grow in place."""
    before, after = old.get("ipCidrRange"), new.get("ipCidrRange")
    try:
        inside = ipaddress.IPv4Network(before).subnet_of(ipaddress.IPv4Network(after))
    except (ValueError, TypeError):
        return ["ipCidrRange"]
    return [] if inside else ["ipCidrRange"]


def _mode(request: Request) -> None:
    mtu = request.inputs.get("mtu") or 1460
    if not 1300 <= mtu <= 8896:
        raise invalid("mtu", mtu, "Must be between 1300 and 8896.")


def _route(request: Request) -> None:
    """Check that a route's range is no subnetwork's, and that its next hop address is in a subnetwork."""
    block = network_range("destRange", request.inputs["destRange"])
    ranges = subnetworks(request, _IN_NETWORK.ids(request)[0])
    for id, taken in ranges.items():
        if block.subnet_of(taken):
            why = f"Destination range must not be contained in the range of subnetwork '{id}'."
            raise invalid("destRange", str(block), why)
    hop = request.inputs.get("nextHopIp")
    if hop is not None and not any(_lies(hop, taken) for taken in ranges.values()):
        raise invalid("nextHopIp", hop, "Next hop IP address is not in the range of any subnetwork of the network.")
    gateway = request.inputs.get("nextHopGateway")
    if gateway is not None and gateway.rpartition("/")[2] != GATEWAY:
        raise invalid("nextHopGateway", gateway, "The referenced gateway resource cannot be found.")


def _lies(address: str, block: ipaddress.IPv4Network) -> bool:
    try:
        return ipaddress.IPv4Address(address) in block
    except ValueError:
        return False


def _router_of(request: Request) -> str:
    return points_to(ROUTER, "router").ids(request)[0]


def _nat(request: Request) -> None:
    listed = request.inputs.get("subnetworks") or []
    if (request.inputs["sourceSubnetworkIpRangesToNat"] == LISTED) != bool(listed):
        raise invalid("nats[0].subnetworks", "", f"Subnetworks are given with {LISTED}, and with nothing else.")
    manual = request.inputs.get("natIpAllocateOption") == "MANUAL_ONLY"
    if manual != bool(request.inputs.get("natIps")):
        raise invalid("nats[0].natIps", "", "NAT addresses are given with MANUAL_ONLY, and with nothing else.")
    ports = request.inputs.get("minPortsPerVm")
    if ports is not None and not 2 <= ports <= 65536:
        raise invalid("nats[0].minPortsPerVm", ports, "Must be between 2 and 65536.")
    router = request.cloud_state.find(ROUTER, _router_of(request))
    for id in points_to(SUBNETWORK, "subnetworks[].name").ids(request):
        there = request.cloud_state.find(SUBNETWORK, id)
        if router and there and there.outputs["network"] != router.outputs["network"]:
            raise invalid("nats[0].subnetworks[0].name", id, "The subnetwork must be in the network of the router.")


_TAKEN = Unique(
    "translated subnetwork",
    (),
    "invalid",
    "googleapi: Error 400: Invalid value for field 'resource.nats[0].subnetworks'. A subnetwork can be configured for"
    " NAT in one gateway only.",
)


def _translated(request: Request) -> list[tuple[Unique, str]]:
    return [(_TAKEN, id) for id in points_to(SUBNETWORK, "subnetworks[].name").ids(request)]


def _subnetwork(request: Request) -> dict[str, Any]:
    block = ipaddress.IPv4Network(request.inputs["ipCidrRange"])
    return {
        **full_link("network", type=NETWORK)(request),
        "gatewayAddress": str(block[1]),
        "subnetworkId": int(request.digits(15, "id"), 16),
        "region": request.region,
    }


_PROJECT = {"project": "{account}"}
_CREATED = {**_PROJECT, "creationTimestamp": "2026-01-01T00:00:00.000-08:00"}

TYPES: dict[str, ResourceType] = {
    NETWORK: ResourceType(
        id=id_of(NETWORK),
        immutable=("name", "autoCreateSubnetworks", "description", "project", "internalIpv6Range", "networkProfile"),
        chosen=("name", "project", "mtu", "routingMode", "internalIpv6Range", "bgpBestPathSelectionMode"),
        fallback={
            "autoCreateSubnetworks": True,
            "deleteDefaultRoutesOnCreate": False,
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
        },
        outputs={
            **_PROJECT,
            "selfLink": link(NETWORK),
            "gatewayIpv4": "",
            "numericId": "{hex:12}",
            "networkId": "{hex:12}",
        },
        derive=lambda request: {"mtu": 1460, "routingMode": "REGIONAL"},
        auto_name=AUTO_NAME,
        patterns={**NAMED, "routingMode": (re.compile("GLOBAL|REGIONAL"), "GLOBAL or REGIONAL")},
        unique=(own_name(NETWORK),),
        in_use=in_use("network"),
        rules=(_mode, QUOTAS.at_most("networks per project")),
    ),
    SUBNETWORK: ResourceType(
        id=id_of(SUBNETWORK),
        immutable=("name", "network", "region", "project", "description", "purpose", "reservedInternalRange"),
        replaces=_grown,
        chosen=("name", "project", "region", "purpose", "stackType", "secondaryIpRanges", "privateIpv6GoogleAccess"),
        fallback={"privateIpGoogleAccess": False},
        outputs={**_CREATED, "selfLink": link(SUBNETWORK), "purpose": "PRIVATE", "stackType": "IPV4_ONLY", "state": ""},
        derive=_subnetwork,
        auto_name=AUTO_NAME,
        patterns=NAMED,
        completed=("network",),
        references=(_IN_NETWORK,),
        unique=(own_name(SUBNETWORK),),
        in_use=in_use("subnetwork"),
        rules=(_subnetwork_range, QUOTAS.at_most("subnetworks per project")),
    ),
    ROUTE: ResourceType(
        id=id_of(ROUTE),
        immutable=("name", "network", "destRange", "priority", "tags", "description", "project", *_HOPS),
        chosen=("name", "project"),
        fallback={"priority": 1000},
        outputs={**_CREATED, "selfLink": link(ROUTE), "nextHopNetwork": ""},
        derive=full_link("network", type=NETWORK),
        auto_name=AUTO_NAME,
        patterns=NAMED,
        ranges={"priority": (0, 65535)},
        completed=("network",),
        at_most_one=(_HOPS,),
        at_least_one=(_HOPS,),
        references=(_IN_NETWORK,),
        unique=(own_name(ROUTE),),
        rules=(_route, QUOTAS.at_most("routes per project")),
    ),
    ROUTER: ResourceType(
        id=id_of(ROUTER),
        immutable=("name", "network", "region", "project", "encryptedInterconnectRouter"),
        chosen=("name", "project", "region"),
        outputs={**_CREATED, "selfLink": link(ROUTER)},
        derive=lambda request: {**full_link("network", type=NETWORK)(request), "region": request.region},
        auto_name=AUTO_NAME,
        patterns=NAMED,
        completed=("network",),
        references=(_IN_NETWORK,),
        unique=(own_name(ROUTER),),
        rules=(QUOTAS.at_most("routers per project"),),
    ),
    NAT: ResourceType(
        id=lambda request: (
            f"{request.account}/{request.region}/{_router_of(request).rpartition('/')[2]}/{request.inputs['name']}"
        ),
        immutable=("name", "router", "region", "project"),
        chosen=("name", "project", "region", "type", "autoNetworkTier", "minPortsPerVm", "logConfig"),
        fallback={"icmpIdleTimeoutSec": 30, "tcpEstablishedIdleTimeoutSec": 1200, "tcpTransitoryIdleTimeoutSec": 30},
        outputs={**_PROJECT, "type": "PUBLIC", "autoNetworkTier": "PREMIUM"},
        derive=lambda request: {"region": request.region},
        unordered=("subnetworks",),
        auto_name=AUTO_NAME,
        patterns={
            **NAMED,
            "natIpAllocateOption": (re.compile("AUTO_ONLY|MANUAL_ONLY"), "AUTO_ONLY or MANUAL_ONLY"),
            "sourceSubnetworkIpRangesToNat": (
                re.compile(f"ALL_SUBNETWORKS_ALL_IP_RANGES|ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES|{LISTED}"),
                f"ALL_SUBNETWORKS_ALL_IP_RANGES, ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES or {LISTED}",
            ),
        },
        references=(points_to(ROUTER, "router", "vanish"), points_to(SUBNETWORK, "subnetworks[].name")),
        unique=(
            Unique(
                "nat",
                ("router", "name"),
                "alreadyExists",
                "googleapi: Error 409: The NAT '{in_.name}' already exists in router '{in_.router}'",
            ),
        ),
        claims=_translated,
        rules=(_nat,),
    ),
}
