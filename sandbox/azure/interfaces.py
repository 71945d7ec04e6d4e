"""Network interfaces and load balancers: the owner of each address of a subnet."""

import ipaddress
from typing import Any

from sandbox.azure.names import ADDRESS, BALANCER, INTERFACE, MEMBERS, RULES, SUBNET, points_to, row
from sandbox.azure.networks import RESERVED, prefix, quota, uses
from sandbox.azure.quotas import BY_TYPE
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.records import Record

_USED = "used address"
Configuration = dict[str, Any]
"""An ipConfiguration of an interface, or a frontendIPConfiguration of a load balancer."""


def taken(address: str) -> Unique:
    """Return the claim of an address of a subnet."""
    message = f"IP configuration is using the private IP address {address} which is already allocated to a resource."
    return Unique(_USED, (), "PrivateIPAddressIsAllocated", message)


def _key(subnet: str, address: str) -> str:
    return f"{subnet} {address}"


def _id(values: Configuration, name: str) -> str:
    return (values.get(name) or {}).get("id") or ""


def check_address(request: Request, each: Configuration) -> None:
    """Check that a static address lies in its subnet and is not reserved by Azure."""
    subnet = request.cloud_state.find(SUBNET.token, _id(each, "subnet"))
    static, address = each.get("privateIPAllocationMethod") == "Static", each.get("privateIPAddress")
    if static and not address:
        raise Refusal("PrivateIPAddressNotSpecified", "A static private IP address must be given.")
    if subnet is None or not static:
        return
    range = prefix(subnet.inputs)
    whole = ipaddress.IPv4Network(range)
    try:
        number = int(ipaddress.IPv4Address(address)) - int(whole.network_address)
    except ValueError:
        raise Refusal("InvalidIPAddressFormat", f"{address} is no IPv4 address.") from None
    if not 0 <= number < whole.num_addresses:
        raise Refusal(
            "PrivateIPAddressNotInSubnet",
            f"Private static IP address {address} does not belong to the range of subnet prefix {range}.",
        )
    if number < RESERVED or number == whole.num_addresses - 1:
        raise Refusal(
            "PrivateIPAddressInReservedRange",
            f"Private static IP address {address} falls within reserved IP range of subnet prefix {range}.",
        )


def free_address(request: Request, subnet: str) -> str:
    """Return a free address of a subnet, from its end, where fixed addresses are rare."""
    record = request.cloud_state.find(SUBNET.token, subnet)
    whole = ipaddress.IPv4Network(prefix(record.inputs) if record else "10.0.0.0/24")
    for number in range(whole.num_addresses - 2, RESERVED - 1, -1):
        if request.cloud_state.claim(_USED, _key(subnet, str(whole[number]))) is None:
            return str(whole[number])
    raise Refusal("SubnetIsFull", f"Subnet {subnet} does not have enough capacity for 1 IP address.")


def completed(request: Request, path: str, before: Record | None) -> list[Configuration]:
    """Return configurations with ids and addresses; a configuration keeps the address that it has."""
    known = {each["name"]: each for each in (before.outputs.get(path) or [])} if before else {}
    made: list[Configuration] = []
    for index, configuration in enumerate(request.inputs.get(path) or []):
        name = configuration.get("name") or f"{path}{index}"
        address = configuration.get("privateIPAddress") or known.get(name, {}).get("privateIPAddress")
        if not address and _id(configuration, "subnet"):
            address = free_address(request, _id(configuration, "subnet"))
        more = {"privateIPAddress": address} if address else {}
        method = configuration.get("privateIPAllocationMethod", "Dynamic")
        place = {"id": f"{request.id}/{path}/{name}", "provisioningState": "Succeeded"}
        made.append({**configuration, **more, **place, "name": name, "privateIPAllocationMethod": method})
    return made


def claims(request: Request, path: str) -> list[tuple[Unique, str]]:
    """Return the claims of configurations on addresses. `chosen` holds the addresses that Azure picked, from the
    second call on.
    """
    pairs = [(_id(each, "subnet"), each.get("privateIPAddress")) for each in request.inputs.get(path) or []]
    claims = [(taken(address), _key(subnet, address)) for subnet, address in pairs if subnet and address]
    addresses = [_id(each, "publicIPAddress") for each in request.inputs.get(path) or []]
    return claims + [(uses(each, request.id), each) for each in addresses if each]


def _interface(request: Request) -> None:
    configurations = request.inputs.get("ipConfigurations") or []
    if not configurations:
        raise Refusal(
            "NetworkInterfaceMustHaveIpConfiguration", "A network interface has at least one IP configuration."
        )
    for configuration in configurations:
        if not _id(configuration, "subnet"):
            raise Refusal("SubnetNotSpecified", "Each IP configuration of a network interface refers to a subnet.")
        check_address(request, configuration)
        for pool in configuration.get("loadBalancerBackendAddressPools") or []:
            _in_balancer(request, pool.get("id") or "", "backendAddressPools")


def _in_balancer(request: Request, id: str, path: str) -> None:
    balancer = request.cloud_state.find(BALANCER.token, id.partition(f"/{path}/")[0])
    known = [each["id"] for each in (balancer.outputs.get(path) or [])] if balancer else []
    if id not in known:
        raise Refusal(
            "InvalidResourceReference",
            f"Resource {id} referenced by {request.inputs.get('networkInterfaceName')}"
            " was not found. Please make sure that the referenced resource exists.",
        )


_PARTS = ("frontendIPConfigurations", "backendAddressPools", "probes", "loadBalancingRules")
_REFERRED = {
    "frontendIPConfiguration": "frontendIPConfigurations",
    "backendAddressPool": "backendAddressPools",
    "probe": "probes",
}


def _balancer(request: Request) -> None:
    """Check that rules refer to existing parts, and that no two rules share a frontend port."""
    inputs = request.inputs
    own = request.format(BALANCER.id)
    ids = {f"{own}/{path}/{each.get('name')}" for path in _PARTS for each in inputs.get(path) or []}
    for configuration in inputs.get("frontendIPConfigurations") or []:
        check_address(request, configuration)
        _same_zones(request, configuration)
        if not _id(configuration, "subnet") and not _id(configuration, "publicIPAddress"):
            raise Refusal(
                "LoadBalancerFrontendIPConfigMustHaveSubnetOrPublicIP",
                f"Frontend IP configuration {configuration.get('name')} refers to neither a subnet nor a public IP"
                " address.",
            )
    seen: set[tuple[str, int, str]] = set()
    for rule in inputs.get("loadBalancingRules") or []:
        for name in _REFERRED:
            id = _id(rule, name)
            if id and id not in ids:
                raise Refusal(
                    "InvalidResourceReference",
                    f"Resource {id} referenced by resource {own}/loadBalancingRules/{rule.get('name')} was not found.",
                )
        key = (_id(rule, "frontendIPConfiguration"), rule["frontendPort"], rule["protocol"])
        if key in seen:
            raise Refusal(
                "RulesUseSameFrontendPortProtocolAndIPConfig",
                f"Load balancing rules of {own} with the same FrontendIPConfiguration use port {rule['frontendPort']}"
                " and protocol twice.",
            )
        seen.add(key)
    _backend_ports(inputs)
    _probes(inputs)


def _same_zones(request: Request, frontend: Configuration) -> None:
    """Refuse other zones for a frontend that exists (Azure/azure-powershell issue 14326)."""
    known = (request.old.inputs.get("frontendIPConfigurations") or []) if request.old else []
    before = next((each for each in known if each.get("name") == frontend.get("name")), None)
    if before is not None and sorted(before.get("zones") or []) != sorted(frontend.get("zones") or []):
        raise Refusal(
            "ResourceAvailabilityZonesCannotBeModified",
            f"Resource {request.format(BALANCER.id)}/frontendIPConfigurations/{frontend.get('name')} has an existing"
            " availability zone constraint, and the request has another.",
        )


def _backend_ports(inputs: dict[str, Any]) -> None:
    """Refuse two rules without floating IP to one port of a pool (MicrosoftDocs/azure-docs issue 117762)."""
    seen: set[tuple[str, int, str]] = set()
    for rule in inputs.get("loadBalancingRules") or []:
        pool, port = _id(rule, "backendAddressPool"), rule.get("backendPort") or rule["frontendPort"]
        if not pool or rule.get("enableFloatingIP"):
            continue
        key = (pool, port, rule["protocol"])
        if key in seen:
            raise Refusal(
                "RulesUseSameBackendPortProtocolAndPool",
                f"Load balancing rules with floating IP disabled use the same protocol {rule['protocol']} and backend"
                f" port {port}, and must not be used with the same backend address pool {pool}.",
            )
        seen.add(key)


def _probes(inputs: dict[str, Any]) -> None:
    for probe in inputs.get("probes") or []:
        web = probe["protocol"] in ("Http", "Https")
        if web != bool(probe.get("requestPath")):
            raise Refusal(
                "InvalidRequestFormat",
                f"Probe {probe.get('name')} of protocol {probe['protocol']} {'lacks' if web else 'takes no'}"
                " requestPath.",
            )
        if probe["protocol"] == "Https" and (inputs.get("sku") or {}).get("name") != "Standard":
            raise Refusal("HttpsProbeNotSupportedOnBasicLoadBalancer", "Probes by HTTPS need the sku Standard.")


def _parts(request: Request) -> dict[str, Any]:
    made: dict[str, Any] = {
        "frontendIPConfigurations": completed(request, "frontendIPConfigurations", request.old),
    }
    for path in _PARTS[1:]:
        if request.inputs.get(path):
            made[path] = [{**each, "id": f"{request.id}/{path}/{each.get('name')}"} for each in request.inputs[path]]
    return made


TYPES: dict[str, ResourceType] = {
    INTERFACE.token: row(
        INTERFACE,
        outputs={"provisioningState": "Succeeded", "type": INTERFACE.arm, "macAddress": "00-0D-3A-{hex:6}"},
        derive=lambda request: {"ipConfigurations": completed(request, "ipConfigurations", request.old)},
        completed=("ipConfigurations",),
        references=(
            points_to(SUBNET, "ipConfigurations[].subnet.id"),
            points_to(RULES, "networkSecurityGroup.id"),
            points_to(ADDRESS, "ipConfigurations[].publicIPAddress.id"),
            points_to(MEMBERS, "ipConfigurations[].applicationSecurityGroups[].id"),
        ),
        claims=lambda request: claims(request, "ipConfigurations"),
        rules=(_interface, quota(BY_TYPE[INTERFACE.token])),
        in_use=(
            "NicInUse",
            (
                "Network Interface {id} is used by existing resource {holder}. In order to delete the network"
                " interface,"
                " it must"
                " be dissociated from the resource."
            ),
        ),
    ),
    BALANCER.token: row(
        BALANCER,
        outputs={"provisioningState": "Succeeded", "type": BALANCER.arm},
        derive=_parts,
        completed=_PARTS,
        immutable=("sku",),
        references=(
            points_to(SUBNET, "frontendIPConfigurations[].subnet.id"),
            points_to(ADDRESS, "frontendIPConfigurations[].publicIPAddress.id"),
        ),
        claims=lambda request: claims(request, "frontendIPConfigurations"),
        rules=(_balancer,),
    ),
}
