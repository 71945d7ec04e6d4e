"""Networks: types, subnets, adapters, and their policies."""

import json
import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any
from uuid import UUID

from lab.hns import shapes
from lab.hns.errors import Code, HnsError
from lab.hns.service import Object, Service, policies, upper

VXLAN_PORT = 4789
"""UDP port of all overlay networks of a machine, unless the first one has a VxlanPort policy."""

SMALLEST_VSID = 4096
"""Smallest isolation id of overlay networks (flannel pkg/backend/vxlan/vxlan_windows.go)."""

MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")

TYPES = frozenset({"NAT", "ICS", "Transparent", "L2Bridge", "L2Tunnel", "Overlay", "Private", "Internal"})
EXTERNAL = frozenset({"Transparent", "L2Bridge", "L2Tunnel", "Overlay"})
"""Types that need an adapter; the virtual switch takes over its address."""

ONLY_OVERLAY = frozenset({"RemoteSubnetRoute", "DrMacAddress", "VxlanPort", "HostRoute"})
"""Policies about VXLAN."""


def subnets(network: Mapping[str, Any]) -> list[tuple[IPv4Network, IPv4Address | None]]:
    """Return address range and gateway of each subnet."""
    found: list[tuple[IPv4Network, IPv4Address | None]] = []
    for ipam in network.get("Ipams") or ():
        for subnet in ipam.get("Subnets") or ():
            routes = [each for each in subnet.get("Routes") or () if each.get("DestinationPrefix") == "0.0.0.0/0"]
            gateway = IPv4Address(routes[0]["NextHop"]) if routes and routes[0].get("NextHop") else None
            found.append((IPv4Network(subnet["IpAddressPrefix"]), gateway))
    return found


def vsid(network: Mapping[str, Any]) -> int | None:
    """Return the isolation id of a network's first subnet."""
    for ipam in network.get("Ipams") or ():
        for subnet in ipam.get("Subnets") or ():
            for settings in policies(subnet, "VSID"):
                return int(settings["IsolationId"])
    return None


def management_address(network: Mapping[str, Any]) -> str:
    """Return the machine's address on the network's adapter; empty if there is none."""
    return next((each["ProviderAddress"] for each in policies(network, "ProviderAddress")), "")


def create(service: Service, wanted: str, text: str) -> Object:
    """Create a network. An external one gets the adapter's address, an overlay its distributed router's MAC."""
    document = shapes.read("Network", text)
    if service.leaving:
        raise HnsError(Code.NETWORK_EXISTS, f"{service.leaving[0]['Name']} is not removed yet")
    if service.taken:
        service.taken -= 1
        raise HnsError(Code.NETWORK_EXISTS, f"{document.get('Name')} is taken, although it is not listed")
    kind = document.get("Type", "NAT")
    if kind not in TYPES:
        raise HnsError(Code.INVALID_NETWORK_TYPE, kind)
    given = list(document.get("Policies") or ())
    for policy in given:
        _check_policy(service, kind, policy)
    _check_subnets(service, kind, document)
    if kind in EXTERNAL:
        adapter = _adapter(service, policies({"Policies": given}, "NetAdapterName"))
        rest = [each for each in given if each["Type"] not in ("NetAdapterName", "ProviderAddress")]
        given = [
            *rest,
            {"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": adapter}},
            {"Type": "ProviderAddress", "Settings": {"ProviderAddress": service.adapters[adapter]}},
        ]
    made = service.add("Network", {**document, "Type": kind, "Policies": given}, wanted)
    if kind == "Overlay" and not policies(made, "DrMacAddress"):
        made["Policies"].append({"Type": "DrMacAddress", "Settings": {"Address": mac(made["ID"])}})
    service.made += 1
    return made


def mac(guid: str) -> str:
    """Return a MAC of Hyper-V's range, 00-15-5D, derived from an object's id."""
    return "-".join(("00", "15", "5D", *(f"{byte:02X}" for byte in UUID(guid).bytes[:3])))


def _adapter(service: Service, wanted: list[Mapping[str, Any]]) -> str:
    """Return the adapter that the policy names, else the first one; real HNS then chooses any.

    Real HNS refuses the adapter of a virtual switch (Azure/azure-container-networking network/network_windows.go),
    with 0x57 (antrea-io/antrea#2213, flannel-io/flannel#1966).
    """
    if not wanted:
        return next(iter(service.adapters))
    name = wanted[0]["NetworkAdapterName"]
    if name.startswith("vEthernet"):
        raise HnsError(Code.PARAMETER, f"{name} is the adapter of a virtual switch")
    if name in service.adapters:
        return name
    raise HnsError(Code.ADAPTER_NOT_FOUND, f"no adapter {name}, only {', '.join(service.adapters)}")


def _check_subnets(service: Service, kind: str, document: Mapping[str, Any]) -> None:
    try:
        found = subnets(document)
    except (ValueError, KeyError) as error:
        raise HnsError(Code.PARAMETER, f"subnet: {error}") from None
    if kind in ("Overlay", "L2Bridge") and not found:
        raise HnsError(Code.PARAMETER, f"{kind} without a subnet")
    for subnet, gateway in found:
        if gateway is None or gateway not in subnet:
            raise HnsError(Code.PARAMETER, f"gateway {gateway} of {subnet}")
    for other in service.all("Network"):
        if other["Type"] == kind and any(one.overlaps(two) for one, _ in found for two, _ in subnets(other)):
            raise HnsError(Code.NETWORK_EXISTS, f"{other['Name']} has an address range that overlaps")
    isolation = vsid(document)
    if kind == "Overlay" and (isolation is None or isolation < SMALLEST_VSID):
        raise HnsError(Code.INVALID_POLICY, f"an overlay needs a VSID from {SMALLEST_VSID} on, not {isolation}")


def _check_policy(service: Service, kind: str, policy: Mapping[str, Any]) -> None:
    word, settings = policy["Type"], policy.get("Settings") or {}
    if word in ONLY_OVERLAY and kind != "Overlay":
        raise HnsError(Code.INVALID_POLICY_TYPE, f"{word} on {kind}")
    if word == "HostRoute" and not service.build.host_route:
        raise HnsError(Code.INVALID_POLICY_TYPE, f"HostRoute on Windows {service.build.number}")
    if word == "RemoteSubnetRoute":
        _check_remote_subnet(settings)
    if word == "VxlanPort":
        ports = {vxlan_port(each) for each in service.all("Network") if each["Type"] == "Overlay"}
        if ports - {settings.get("Port")}:
            raise HnsError(Code.INVALID_POLICY, f"another overlay has the VXLAN port {ports}")


def vxlan_port(network: Mapping[str, Any]) -> int:
    """Return the UDP port of an overlay."""
    return next((int(each["Port"]) for each in policies(network, "VxlanPort")), VXLAN_PORT)


def _check_remote_subnet(settings: Mapping[str, Any]) -> None:
    try:
        IPv4Network(settings["DestinationPrefix"])
        IPv4Address(settings["ProviderAddress"])
        right = MAC.fullmatch(settings["DistributedRouterMacAddress"]) and settings["IsolationId"] >= SMALLEST_VSID
    except (KeyError, ValueError):
        right = False
    if not right:
        raise HnsError(Code.INVALID_POLICY, f"RemoteSubnetRoute {dict(settings)}")


def modify(service: Service, guid: str, text: str) -> None:
    """Add or remove policies (hcsshim ModifyNetworkSettingRequest); other resources are not imitated."""
    network, request = service.get("Network", guid), shapes.read("Request", text)
    if request.get("ResourceType") != "Policy":
        raise HnsError(Code.UNSUPPORTED, f"modify {request.get('ResourceType')} of a network")
    for policy in (request.get("Settings") or {}).get("Policies") or ():
        shapes.check_policy("Network", policy)
        if request.get("RequestType") == "Add":
            _check_policy(service, network["Type"], policy)
            network["Policies"].append(policy)
        elif request.get("RequestType") == "Remove":
            if policy not in network["Policies"]:
                raise HnsError(Code.POLICY_NOT_FOUND, json.dumps(policy))
            network["Policies"].remove(policy)
        else:
            raise HnsError(Code.UNSUPPORTED, f"{request.get('RequestType')} of policies of a network")


def delete(service: Service, guid: str) -> None:
    """Delete a network and its endpoints. A load balancer keeps it (Azure/aks-engine cleanupnetwork.ps1)."""
    network = service.get("Network", guid)
    own = {each["ID"] for each in service.endpoints(network["ID"])}
    if any(
        own & {upper(each) for each in balancer["HostComputeEndpoints"]} for balancer in service.all("LoadBalancer")
    ):
        raise HnsError(Code.HAS_REFERENCES, f"a load balancer uses endpoints of {network['Name']}")
    if service.keeps:
        service.keeps -= 1
        raise HnsError(Code.HAS_REFERENCES, f"{network['Name']} is kept")
    for endpoint in own:
        del service.objects["Endpoint"][endpoint]
    if service.lingers:
        service.leaving = [network]
    del service.objects["Network"][network["ID"]]
