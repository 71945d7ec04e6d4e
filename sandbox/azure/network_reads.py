"""Reads of virtual networks, subnets and links of private zones, as the provider's functions return them."""

from collections.abc import Callable
from typing import Any

from sandbox.azure.names import BASTION, GROUP, LINK, NETWORK, RESOURCE_GROUP, SUBNET, Kind
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState, Record


def _found(cloud_state: CloudState, place: Place, kind: Kind, arguments: dict[str, Any], *names: str) -> Record:
    """Return a resource of the caller's subscription. Raises Refusal as Azure Resource Manager does."""
    if more := sorted(set(arguments) - {"resourceGroupName", *names}):
        known = ", ".join(("resourceGroupName", *names))
        raise Refusal("InvalidArgument", f"the sandbox supports {known}, not {', '.join(more)}")
    group = arguments["resourceGroupName"]
    known_groups = [one.inputs["resourceGroupName"].lower() for one in cloud_state.resources(RESOURCE_GROUP)]
    if group.lower() not in known_groups:
        raise Refusal("ResourceGroupNotFound", f"Resource group '{group}' could not be found.")
    path = GROUP.replace("{account}", place.account).replace("{in_.resourceGroupName}", group)
    id = f"{path}/providers/{kind.path}/{arguments[names[-1]]}"
    for name in names[:-1]:
        id = id.replace(f"{{in_.{name}}}", arguments[name])
    found = next((one for one in cloud_state.resources(kind.token) if one.id.lower() == id.lower()), None)
    if found is None:
        asked = "/".join(arguments[name] for name in names)
        raise Refusal(
            "ResourceNotFound", f"The Resource '{kind.arm}/{asked}' under resource group '{group}' was not found."
        )
    return found


def network(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """network.getVirtualNetwork by resource group and name."""
    found = _found(cloud_state, place, NETWORK, arguments, "virtualNetworkName")
    known = {name: found.outputs.get(name) for name in ("addressSpace", "dhcpOptions", "location", "name", "tags")}
    return known | {"id": found.id, "provisioningState": "Succeeded", "type": NETWORK.arm}


def subnet(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """network.getSubnet by resource group, network and name."""
    found = _found(cloud_state, place, SUBNET, arguments, "virtualNetworkName", "subnetName")
    names = ("addressPrefix", "addressPrefixes", "defaultOutboundAccess", "delegations", "natGateway", "routeTable")
    known = {name: found.outputs.get(name) for name in (*names, "name", "networkSecurityGroup", "serviceEndpoints")}
    return known | {"id": found.id, "provisioningState": "Succeeded", "type": SUBNET.arm}


def bastion(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """network.getBastionHost by resource group and name."""
    found = _found(cloud_state, place, BASTION, arguments, "bastionHostName")
    names = ("dnsName", "enableTunneling", "ipConfigurations", "location", "name", "scaleUnits", "sku", "tags")
    known = {name: found.outputs.get(name) for name in names}
    return known | {"id": found.id, "provisioningState": "Succeeded", "type": BASTION.arm}


def link(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """privatedns.getVirtualNetworkLink by resource group, zone and name."""
    found = _found(cloud_state, place, LINK, arguments, "privateZoneName", "virtualNetworkLinkName")
    names = ("location", "name", "registrationEnabled", "tags", "virtualNetwork", "virtualNetworkLinkState")
    known = {name: found.outputs.get(name) for name in names}
    return known | {"id": found.id, "provisioningState": "Succeeded", "type": LINK.arm}


READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "azure-native:network:getBastionHost": bastion,
    "azure-native:network:getVirtualNetwork": network,
    "azure-native:network:getSubnet": subnet,
    "azure-native:privatedns:getVirtualNetworkLink": link,
}
