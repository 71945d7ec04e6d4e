"""How machines reach Azure's services without outbound access: by private endpoints.

An endpoint leads to one store or vault. Its address must be in a private zone that the machines' network is linked to,
because machines use the services' public names (Private Link, "Azure Private Endpoint private DNS zone values").
"""

import re
from ipaddress import ip_address, ip_network
from typing import Any

from sandbox.azure.endpoints import connections, network_of
from sandbox.azure.names import ENDPOINT, INTERFACE, LINK, RULES, STORE, SUBNET, VAULT, ZONE, ZONE_GROUP, Kind
from sandbox.cloud_state import CloudState
from sandbox.records import Record

HTTPS = 443
MANAGER = "management.azure.com"
"""Resource Manager: no private endpoint of a single network leads to it."""
KINDS: dict[str, tuple[Kind, str, str]] = {
    ".blob.core.windows.net": (STORE, "blob", "privatelink.blob.core.windows.net"),
    ".vault.azure.net": (VAULT, "vault", "privatelink.vaultcore.azure.net"),
}
"""Type, sub-resource and private zone of a service, by the end of its host names."""
ENFORCED = ("Enabled", "NetworkSecurityGroupEnabled")
"""Policies of a subnet with which its security group applies to endpoints."""


def interface(cloud_state: CloudState, machine: Record) -> Record | None:
    """Return a machine's first network interface."""
    faces = (machine.inputs.get("networkProfile") or {}).get("networkInterfaces") or [{}]
    return cloud_state.find(INTERFACE.token, faces[0].get("id") or "")


def subnet(cloud_state: CloudState, face: Record | None) -> Record | None:
    """Return the subnet of an interface."""
    configurations = face.outputs["ipConfigurations"] if face else [{}]
    return cloud_state.find(SUBNET.token, (configurations[0].get("subnet") or {}).get("id") or "")


def has_way_out(cloud_state: CloudState, machine: Record) -> bool:
    """Return whether a machine has a public address, or its subnet a NAT gateway."""
    face = interface(cloud_state, machine)
    inside = subnet(cloud_state, face)
    if face is None or inside is None:
        return False
    public = face.outputs["ipConfigurations"][0].get("publicIPAddress")
    return bool(public or (inside.inputs.get("natGateway") or {}).get("id"))


def missing(cloud_state: CloudState, machine: Record, host: str) -> str:
    """Return why no private endpoint leads a machine to a host; empty if one does."""
    face = interface(cloud_state, machine)
    inside = subnet(cloud_state, face)
    end = next((each for each in KINDS if host.endswith(each)), None)
    if face is None or inside is None or end is None:
        return f"no private endpoint leads to {host}"
    kind, part, zone = KINDS[end]
    target = next(
        (one for one in cloud_state.resources(kind.token) if one.inputs[kind.name] == host[: -len(end)]), None
    )
    network = network_of(inside.id)
    found = [
        one
        for one in cloud_state.resources(ENDPOINT.token)
        if network_of(one.inputs["subnet"]["id"]) == network and target and _leads(one, target.id, part)
    ]
    if not found:
        return f"no private endpoint in {network} leads to {host}"
    named = [one for one in found if _is_named(cloud_state, one, zone, network)]
    if not named:
        return f"no private zone {zone} with a link to {network} has the address of {found[0].id}"
    closed = [one.id for one in named if not _admits(cloud_state, one, face)]
    return f"the security group of {', '.join(closed)} does not admit it" if len(closed) == len(named) else ""


def _leads(endpoint: Record, target: str, part: str) -> bool:
    return any(
        each.get("privateLinkServiceId") == target and part in (each.get("groupIds") or [])
        for each in connections(endpoint.inputs)
    )


def _is_named(cloud_state: CloudState, endpoint: Record, zone: str, network: str) -> bool:
    """Return whether a zone of this name has the endpoint's address, and a link to the network."""
    groups = [one for one in cloud_state.referrers(ENDPOINT.token, endpoint.id) if one.type == ZONE_GROUP.token]
    ids = {each["privateDnsZoneId"] for one in groups for each in one.inputs["privateDnsZoneConfigs"]}
    zones = [one for one in (cloud_state.find(ZONE.token, id) for id in ids) if one]
    links = [
        one
        for each in zones
        if each.inputs["privateZoneName"] == zone
        for one in cloud_state.referrers(ZONE.token, each.id)
        if one.type == LINK.token
    ]
    return any((one.inputs.get("virtualNetwork") or {}).get("id") == network for one in links)


def _admits(cloud_state: CloudState, endpoint: Record, face: Record) -> bool:
    """Return whether the security group of an endpoint's subnet admits https from an interface.

    Without the policy the group does not apply to endpoints; Azure's default rules admit the whole network.
    """
    place = cloud_state.find(SUBNET.token, endpoint.inputs["subnet"]["id"])
    id = ((place.inputs.get("networkSecurityGroup") if place else None) or {}).get("id") or ""
    group = cloud_state.find(RULES.token, id)
    if place is None or group is None or place.inputs.get("privateEndpointNetworkPolicies") not in ENFORCED:
        return True
    rules = [each for each in group.inputs.get("securityRules") or [] if each["direction"] == "Inbound"]
    first = min((each for each in rules if _matches(each, face)), key=lambda rule: rule["priority"], default=None)
    return first is None or first["access"] == "Allow"


def _matches(rule: dict[str, Any], face: Record) -> bool:
    """Return whether a rule is for https from an interface."""
    [configuration, *_] = face.outputs["ipConfigurations"]
    members = {each["id"] for each in configuration.get("applicationSecurityGroups") or []}
    groups = {each["id"] for each in rule.get("sourceApplicationSecurityGroups") or []}
    ranges = {rule.get("sourceAddressPrefix"), *(rule.get("sourceAddressPrefixes") or [])} - {None}
    address = ip_address(configuration["privateIPAddress"])
    known = {each for each in ranges if re.fullmatch(r"[0-9./]+", each)}
    source = groups & members or ranges & {"*", "VirtualNetwork"} or any(address in ip_network(each) for each in known)
    ports = [rule.get("destinationPortRange"), *(rule.get("destinationPortRanges") or [])]
    spans = [each.partition("-") for each in ports if each and each != "*"]
    port = "*" in ports or any(int(first) <= HTTPS <= int(last or first) for first, _, last in spans)
    return rule["protocol"] in ("*", "Tcp") and port and bool(source)
