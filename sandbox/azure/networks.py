"""Virtual networks, subnets, route tables and NAT gateways."""

import ipaddress
import re
from typing import Any

from sandbox.azure.bastion_rules import compliant
from sandbox.azure.names import (
    ADDRESS,
    GROUP,
    NAT,
    NETWORK,
    RESOURCE_GROUP,
    ROUTE,
    RULES,
    SUBNET,
    TABLE,
    in_use,
    part_of,
    points_to,
    row,
)
from sandbox.azure.quotas import BY_TYPE, QUOTAS
from sandbox.cloud import AutoName, Refusal, Request, ResourceType, Unique

RESERVED = 4
"""Number of addresses that Azure reserves at a subnet's start, besides the last one (Virtual Network FAQ)."""
RUNNERS = ipaddress.IPv4Network("100.64.0.0/16")
"""Range of the sandbox for the user's subnets of api.virtual_network_rules, of which a stack file names no range."""
_HOPS = "VirtualNetworkGateway|VnetLocal|Internet|VirtualAppliance|None"


def block(text: str, where: str) -> ipaddress.IPv4Network:
    """Return the network of a prefix. Raises Refusal."""
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        pass
    try:
        whole = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise Refusal(
            "InvalidAddressPrefixFormat", f"Address prefix {text} of {where} is not formatted correctly."
        ) from None
    raise Refusal(
        "InvalidCIDRNotation",
        f"The address prefix {text} in resource {where} has an invalid CIDR notation. For the given prefix length, the"
        f" address prefix should be {whole}.",
    )


def quota(name: str) -> Any:
    """Return a quota on a type in its location."""
    return QUOTAS.at_most(name, lambda request: len(request.cloud_state.resources(request.type)))


def prefix(values: dict[str, Any]) -> str:
    """Return the only range of a subnet."""
    return values.get("addressPrefix") or (values.get("addressPrefixes") or [""])[0]


def _space(request: Request) -> None:
    prefixes = (request.inputs.get("addressSpace") or {}).get("addressPrefixes") or []
    if not prefixes:
        raise Refusal("InvalidRequestFormat", "A virtual network has an address space with at least one prefix.")
    for each in prefixes:
        block(each, request.inputs["virtualNetworkName"])


def _range(request: Request) -> None:
    name, network = request.inputs["subnetName"], request.inputs["virtualNetworkName"]
    mine = block(prefix(request.inputs), name)
    if mine.prefixlen > 29:
        raise Refusal("NetcfgInvalidSubnet", f"Subnet '{name}' is not valid in virtual network '{network}'.")
    parent = request.cloud_state.find(NETWORK.token, part_of(NETWORK).ids(request)[0])
    space = parent.inputs["addressSpace"]["addressPrefixes"] if parent else []
    if not any(mine.subnet_of(ipaddress.IPv4Network(each)) for each in space):
        raise Refusal(
            "NetcfgSubnetRangeOutsideVnet",
            f"Subnet '{name}' is not valid because its IP address range is outside the IP address range of virtual"
            " network"
            f" '{network}'.",
        )
    for other in request.cloud_state.referrers(NETWORK.token, parent.id if parent else ""):
        if other.type != SUBNET.token or other.sequence == request.sequence:
            continue
        if mine.overlaps(ipaddress.IPv4Network(prefix(other.inputs))):
            raise Refusal(
                "NetcfgSubnetRangesOverlap",
                f"Subnet '{name}' is not valid because its IP address range overlaps with that of an existing subnet in"
                f" virtual network '{network}'.",
            )


def _routes(request: Request) -> None:
    """Check the routes inside a table. A rule of tables."""
    seen: dict[str, str] = {}
    for each in request.inputs.get("routes") or []:
        name, prefix = each.get("name") or "", each.get("addressPrefix") or ""
        if not name or name in seen.values():
            raise Refusal("InvalidRequestFormat", "Each route has a name of its own.")
        _route(each, name)
        if prefix in seen:
            raise Refusal(
                "RouteConflict",
                f"Route {name} conflicts with another route of {prefix} in {request.inputs['routeTableName']}.",
            )
        seen[prefix] = name


def _route(given: dict[str, Any], name: str) -> None:
    block(given.get("addressPrefix") or "", name)
    appliance, hop = given["nextHopType"] == "VirtualAppliance", given.get("nextHopIpAddress")
    if appliance and not hop:
        raise Refusal(
            "RouteNextHopIpAddressRequired", "A next hop IP address must be given for the type VirtualAppliance."
        )
    if hop and not appliance:
        raise Refusal("InvalidRouteNextHopIpAddress", "A next hop IP address is for the type VirtualAppliance alone.")
    try:
        ipaddress.IPv4Address(hop or "0.0.0.0")  # noqa: S104
    except ValueError:
        raise Refusal("InvalidRouteNextHopIpAddress", f"The next hop {hop} is no IPv4 address.") from None


def _standard(request: Request) -> None:
    if (request.inputs.get("sku") or {}).get("name") not in ("Standard", "StandardV2"):
        raise Refusal("NatGatewaySkuMustBeStandard", "A NAT gateway has the sku Standard or StandardV2.")


def _address(request: Request) -> None:
    """Refuse the Basic SKU (retired on 30 September 2025) and dynamic allocation of Standard addresses."""
    sku = (request.inputs.get("sku") or {}).get("name", "Standard")
    if sku == "Basic":
        raise Refusal(
            "IPv4BasicSkuPublicIpCountLimitReached",
            "Cannot create more than 0 IPv4 Basic SKU public IP addresses for this subscription in this region.",
        )
    if request.inputs.get("publicIPAllocationMethod", "Dynamic") != "Static":
        raise Refusal(
            "StandardSkuPublicIPAddressesMustBeStatic",
            f"Standard sku publicIp {request.inputs['publicIpAddressName']} must have AllocationMethod set to Static.",
        )


def public_address(request: Request) -> str:
    """Return an address of 203.0.113.0/24 or 198.51.100.0/24, the ranges for documentation (RFC 5737)."""
    number = int(request.digits(4, "public"), 16)
    return f"{('203.0.113', '198.51.100')[number % 2]}.{1 + (number // 2) % 254}"


def uses(address: str, owner: str) -> Unique:
    """Return the claim of a public address by its owner."""
    message = f"Resource {owner} is referencing public IP address {address} that is already allocated."
    return Unique("used public address", (), "PublicIPAddressInUse", message)


def _translating(request: Request) -> list[tuple[Unique, str]]:
    addresses = points_to(ADDRESS, "publicIpAddresses[].id").ids(request)
    return [(uses(each, request.inputs["natGatewayName"]), each) for each in addresses]


_DONE = {"provisioningState": "Succeeded"}

TYPES: dict[str, ResourceType] = {
    RESOURCE_GROUP: ResourceType(
        id=GROUP,
        immutable=("resourceGroupName", "location", "managedBy"),
        chosen=("resourceGroupName", "location"),
        outputs={
            "name": "{in_.resourceGroupName}",
            "azureApiVersion": "2025-01-01",
            "type": "Microsoft.Resources/resourceGroups",
        },
        derive=lambda request: {"location": request.region, "properties": _DONE},
        auto_name=AutoName("resourceGroupName", limit=90, digits=8, separator=""),
        patterns={
            "resourceGroupName": (
                re.compile(r"[\w().-]{0,89}[\w()-]"),
                "1 to 90 letters, digits, _, -, dots and parentheses, no dot last",
            )
        },
        unique=(
            Unique(
                "resource group",
                ("resourceGroupName",),
                "AlreadyExists",
                f"cannot create already existing resource '{GROUP}'",
            ),
        ),
        rules=(quota("resource groups"),),
    ),
    NETWORK.token: row(
        NETWORK,
        outputs=_DONE | {"type": NETWORK.arm},
        rules=(_space, quota(BY_TYPE[NETWORK.token])),
        in_use=in_use("InUseVirtualNetworkCannotBeDeleted", "Virtual network"),
    ),
    SUBNET.token: row(
        SUBNET,
        located=False,
        outputs=_DONE,
        references=(
            part_of(NETWORK),
            points_to(RULES, "networkSecurityGroup.id"),
            points_to(TABLE, "routeTable.id"),
            points_to(NAT, "natGateway.id"),
        ),
        at_least_one=(("addressPrefix", "addressPrefixes"),),
        rules=(_range, compliant),
        in_use=(
            "InUseSubnetCannotBeDeleted",
            (
                "Subnet {id} is in use by {holder}/ipConfigurations and cannot be deleted. In order to delete the"
                " subnet,"
                " delete"
                " all the resources within the subnet."
            ),
        ),
    ),
    TABLE.token: row(
        TABLE,
        outputs=_DONE | {"type": TABLE.arm},
        rules=(_routes, quota(BY_TYPE[TABLE.token])),
        in_use=in_use("InUseRouteTableCannotBeDeleted", "Route table"),
    ),
    ROUTE.token: row(
        ROUTE,
        located=False,
        outputs=_DONE,
        references=(part_of(TABLE),),
        unique=(
            Unique(
                "route",
                ("resourceGroupName", "routeTableName", "addressPrefix"),
                "RouteConflict",
                "Route {in_.routeName} conflicts with another route of {in_.addressPrefix} in {in_.routeTableName}.",
            ),
        ),
        patterns={"nextHopType": (re.compile(_HOPS), _HOPS.replace("|", ", "))},
        rules=(lambda request: _route(request.inputs, request.inputs["routeName"]),),
    ),
    NAT.token: row(
        NAT,
        outputs=_DONE | {"type": NAT.arm},
        immutable=("zones", "sku"),
        references=(points_to(ADDRESS, "publicIpAddresses[].id"),),
        claims=_translating,
        ranges={"idleTimeoutInMinutes": (4, 120)},
        rules=(_standard,),
        in_use=in_use("InUseNatGatewayCannotBeDeleted", "NAT gateway"),
    ),
    ADDRESS.token: row(
        ADDRESS,
        outputs=_DONE | {"type": ADDRESS.arm},
        immutable=("zones", "sku"),
        chosen=("ipAddress", "publicIPAddressVersion", "idleTimeoutInMinutes"),
        derive=lambda request: {
            "ipAddress": public_address(request),
            "publicIPAddressVersion": "IPv4",
            "idleTimeoutInMinutes": 4,
        },
        rules=(_address, quota("public addresses per location")),
        in_use=(
            "PublicIPAddressCannotBeDeleted",
            "Public IP address {id} can not be deleted since it is still allocated to resource {holder}.",
        ),
    ),
}
