"""HNSCall, the first API: paths and methods, and its forms of networks, endpoints and load balancers.

Forms: hcsshim internal/hns/*.go; published output of Get-HnsNetwork, Get-HnsEndpoint (docs/windows-network.md).
"""

import json
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Any

from lab.hns import endpoints, load_balancers, networks, shapes
from lab.hns.errors import Code, HnsError
from lab.hns.service import REMOTE, VERSION, Object, Service, policies, upper

NETWORK_FIELDS = frozenset(
    {
        *("ID", "Name", "Type", "NetworkAdapterName", "SourceMac", "Policies", "MacPools", "Subnets", "DNSSuffix"),
        *("DNSServerList", "DNSServerCompartment", "ManagementIP", "AutomaticDNS", "Flags"),
    }
)
ENDPOINT_FIELDS = frozenset(
    {
        *("ID", "Name", "VirtualNetwork", "VirtualNetworkName", "Policies", "MacAddress", "IPAddress", "DNSSuffix"),
        *("DNSServerList", "DNSDomain", "GatewayAddress", "PrefixLength", "IsRemoteEndpoint", "EnableLowMetric"),
    }
)
"""Fields of requests; others are refused here, as in HCN's documents (lab/hns/shapes.py)."""

RENAMED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "OutBoundNAT": ("OutBoundNAT", {"ExceptionList": "Exceptions", "Destinations": "Destinations", "VIP": "VirtualIP"}),
    "ROUTE": ("SDNRoute", {"DestinationPrefix": "DestinationPrefix", "NextHop": "NextHop", "NeedEncap": "NeedEncap"}),
    "PA": ("ProviderAddress", {"PA": "ProviderAddress"}),
    "VSID": ("VSID", {"VSID": "IsolationId"}),
    "VLAN": ("VLAN", {"VLAN": "IsolationId"}),
    "NAT": ("PortMapping", {name: name for name in ("Protocol", "InternalPort", "ExternalPort")}),
}
"""Policy of the first API -> that of HCN, and its fields. Those of other policies have the same names in both."""

ACL = {"Protocol": "Protocols", "LocalPort": "LocalPorts", "RemotePort": "RemotePorts"}
"""Fields of access lists that are numbers here and text in HCN (hcsshim internal/hns/hnspolicy.go ACLPolicy)."""

PROTOCOLS = {"tcp": 6, "udp": 17}


def to_hcn(policy: Any) -> Object:
    """Return HCN's form of a policy. Raises HnsError if it is not an object, or has an unknown field."""
    if not isinstance(policy, Mapping):
        raise HnsError(Code.INVALID_JSON, f"a policy is an object, not {json.dumps(policy)}")
    word = str(policy.get("Type"))
    kind, names = RENAMED.get(word, (word, {field: field for field in policy}))
    settings: dict[str, Any] = {}
    if word == "ACL":
        numbers = {ACL[field]: str(policy[field]) for field in ACL if policy.get(field)}
        return {"Type": word, "Settings": {key: policy[key] for key in policy if key not in ("Type", *ACL)} | numbers}
    for field, value in policy.items():
        if field == "Type":
            continue
        if field not in names:
            raise HnsError(Code.INVALID_POLICY, f"{word} has no field {field}")
        settings[names[field]] = PROTOCOLS.get(str(value).lower(), value) if field == "Protocol" else value
    return {"Type": kind, "Settings": settings}


def from_hcn(policy: Mapping[str, Any]) -> Object:
    """Return the first API's form of a policy."""
    for word, (kind, names) in RENAMED.items():
        if kind == policy["Type"]:
            back = {new: old for old, new in names.items()}
            settings: Object = policy.get("Settings") or {}
            return {"Type": word, **{back.get(key, key): settings[key] for key in settings}}
    return {"Type": policy["Type"], **(policy.get("Settings") or {})}


def network_form(network: Mapping[str, Any]) -> Object:
    """Return a network as Get-HnsNetwork shows it."""
    subnets = [
        {"AddressPrefix": str(prefix), "GatewayAddress": str(gateway), "Policies": [from_hcn(each) for each in own]}
        for (prefix, gateway), own in zip(networks.subnets(network), _subnet_policies(network), strict=True)
    ]
    apart = ("NetAdapterName", "ProviderAddress", "DrMacAddress")
    shown: Object = {
        "ID": network["ID"],
        "Name": network.get("Name", ""),
        "Type": network["Type"],
        "Flags": network.get("Flags", 0),
        "Subnets": subnets,
        "Policies": [from_hcn(each) for each in network["Policies"] if each["Type"] not in apart],
    }
    if address := networks.management_address(network):
        shown["ManagementIP"] = address
        shown["NetworkAdapterName"] = policies(network, "NetAdapterName")[0]["NetworkAdapterName"]
    for settings in policies(network, "DrMacAddress"):
        shown["DrMacAddress"] = settings["Address"]
    return shown


def _subnet_policies(network: Mapping[str, Any]) -> list[list[Object]]:
    return [list(subnet.get("Policies") or ()) for ipam in network["Ipams"] for subnet in ipam["Subnets"]]


def endpoint_form(service: Service, endpoint: Mapping[str, Any]) -> Object:
    """Return an endpoint as Get-HnsEndpoint shows it."""
    network = service.get("Network", endpoint["HostComputeNetwork"])
    dns, held = endpoint.get("Dns") or {}, endpoints.holders(service, endpoint)
    gateway = next((each["NextHop"] for each in endpoint.get("Routes") or () if each.get("NextHop")), "")
    return {
        "ID": endpoint["ID"],
        "Name": endpoint["Name"],
        "VirtualNetwork": network["ID"],
        "VirtualNetworkName": network.get("Name", ""),
        "IPAddress": endpoints.address(endpoint),
        "MacAddress": endpoint["MacAddress"],
        "GatewayAddress": gateway,
        "DNSServerList": ",".join(dns.get("ServerList") or ()),
        "DNSSuffix": ",".join(dns.get("Search") or ()),
        "Policies": [from_hcn(each) for each in endpoint["Policies"]],
        "SharedContainers": [each for each in held if each != endpoints.HOST],
        "State": 2 if held else 1,
        **({"IsRemoteEndpoint": True} if endpoints.is_remote(endpoint) else {}),
    }


def balancer_form(balancer: Mapping[str, Any]) -> Object:
    """Return a load balancer as Get-HnsPolicyList shows it."""
    ports = [
        {
            "Type": "ELB",
            "Protocol": port.get("Protocol", 0),
            "InternalPort": port.get("InternalPort", 0),
            "ExternalPort": port.get("ExternalPort", 0),
            "SourceVIP": balancer.get("SourceVIP", ""),
            "VIPs": balancer.get("FrontendVIPs") or [],
            "IsDSR": bool(balancer.get("Flags", 0) & load_balancers.DSR),
        }
        for port in balancer["PortMappings"]
    ]
    references = [f"/endpoints/{each}" for each in balancer["HostComputeEndpoints"]]
    return {"ID": balancer["ID"], "References": references, "Policies": ports}


def _network(service: Service, request: Mapping[str, Any]) -> Object:
    _known(request, NETWORK_FIELDS, "network")
    subnets = [
        {
            "IpAddressPrefix": subnet.get("AddressPrefix", ""),
            "Routes": [{"NextHop": subnet.get("GatewayAddress", ""), "DestinationPrefix": "0.0.0.0/0"}],
            "Policies": [to_hcn(policy) for policy in subnet.get("Policies") or ()],
        }
        for subnet in request.get("Subnets") or ()
    ]
    own = [to_hcn(policy) for policy in request.get("Policies") or ()]
    if adapter := request.get("NetworkAdapterName"):
        own.append({"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": adapter}})
    types = {each.lower(): each for each in networks.TYPES}
    document = {
        "Name": request.get("Name", ""),
        "Type": types.get(str(request.get("Type", "NAT")).lower(), str(request.get("Type"))),
        "Flags": request.get("Flags", 0),
        "Ipams": [{"Type": "Static", "Subnets": subnets}],
        "Policies": own,
        "SchemaVersion": VERSION,
    }
    return network_form(networks.create(service, request.get("ID", ""), json.dumps(document)))


def _endpoint(service: Service, request: Mapping[str, Any]) -> Object:
    _known(request, ENDPOINT_FIELDS, "endpoint")
    servers, suffixes = request.get("DNSServerList") or "", request.get("DNSSuffix") or ""
    document = {
        "Name": request.get("Name", "Ethernet"),
        "IpConfigurations": [{"IpAddress": request.get("IPAddress", "")}],
        "MacAddress": request.get("MacAddress", ""),
        "Dns": {"ServerList": servers.split(",") if servers else [], "Search": suffixes.split(",") if suffixes else []},
        "Policies": [to_hcn(policy) for policy in request.get("Policies") or ()],
        "Flags": REMOTE if request.get("IsRemoteEndpoint") else 0,
        "SchemaVersion": VERSION,
    }
    if gateway := request.get("GatewayAddress"):
        if service.refuses_no_gateway and not int(IPv4Address(gateway)):
            raise HnsError(Code.ADDRESS_INVALID, f"gateway {gateway}")
        document["Routes"] = [{"NextHop": gateway, "DestinationPrefix": "0.0.0.0/0"}]
    made = endpoints.create(service, request.get("VirtualNetwork", ""), request.get("ID", ""), json.dumps(document))
    return endpoint_form(service, made)


def _known(request: Mapping[str, Any], fields: frozenset[str], what: str) -> None:
    if unknown := set(request) - fields:
        raise HnsError(Code.INVALID_JSON, f"{what} has no field {', '.join(sorted(unknown))}")


def _attach(service: Service, guid: str, request: Mapping[str, Any], detaches: bool) -> None:
    endpoint = service.get("Endpoint", guid)
    container = request.get("ContainerId", "")
    if request.get("SystemType") == "Host":
        if request.get("CompartmentId", 1) != 1:
            raise HnsError(Code.PARAMETER, f"compartment {request['CompartmentId']} of the host")
        if service.refuses_attach and not detaches:
            service.refuses_attach -= 1
            raise HnsError(Code.PARAMETER, f"{endpoint['Name']} cannot be attached yet")
        endpoint.pop("_host", None) if detaches else endpoints.attach_to_host(endpoint)
        if service.attaches_twice and not detaches:
            raise HnsError(Code.ALREADY_ATTACHED, endpoint["Name"])
    elif request.get("SystemType") == "Container" and detaches:
        service.containers.get(container, set()).discard(endpoint["ID"])
    elif request.get("SystemType") == "Container":
        endpoints.attach_to_container(service, container, guid)
    else:
        raise HnsError(Code.UNSUPPORTED, f"attach to {request.get('SystemType')}")


FORMS: Mapping[str, tuple[str, Callable[[Service, Mapping[str, Any]], Object]]] = {
    "networks": ("Network", lambda _, each: network_form(each)),
    "endpoints": ("Endpoint", endpoint_form),
    "policylists": ("LoadBalancer", lambda _, each: balancer_form(each)),
}
"""First part of a path -> kind of object, and its form here."""


def listing(service: Service, kind: str) -> list[Object]:
    """Return all objects: `kind` is networks, endpoints or policylists."""
    known, form = FORMS[kind]
    return [form(service, each) for each in service.listed(known)]


CREATES = {"networks": _network, "endpoints": _endpoint}
DELETES = {"networks": networks.delete, "endpoints": endpoints.delete, "policylists": load_balancers.delete}


def call(service: Service, method: str, path: str, request: str) -> str:
    """Return the answer's JSON text; a refusal is an answer with Success false (hcsshim internal/hns/hnsfuncs.go)."""
    try:
        output = _output(service, method, path, request)
    except HnsError as error:
        service.refusals.append(str(error))
        return error.record()
    return json.dumps({"Success": True, **({} if output is None else {"Output": output})})


def _output(service: Service, method: str, path: str, request: str) -> Any:
    parts = path.strip("/").split("/")
    try:
        body = json.loads(request) if request else {}
    except ValueError as error:
        raise HnsError(Code.INVALID_JSON, str(error)) from None
    shapes.check(body, shapes.ANY, path)
    if (method, parts) == ("GET", ["globals", "version"]):
        return {"Major": service.build.version[0], "Minor": service.build.version[1]}
    if (method, parts) == ("GET", ["portpools"]):
        return load_balancers.reserved(service)
    if parts[0] not in FORMS:
        raise HnsError(Code.NOT_FOUND, path)
    kind, form = FORMS[parts[0]]
    match method, parts[1:]:
        case "GET", []:
            return listing(service, parts[0])
        case "GET", [guid]:
            return form(service, service.get(kind, guid))
        case "POST", [] if parts[0] in CREATES:
            return CREATES[parts[0]](service, body)
        case "DELETE", [guid]:
            shown = form(service, service.get(kind, guid))
            DELETES[parts[0]](service, upper(guid))
            return shown
        case "POST", [guid, "attach" | "detach" as verb] if parts[0] == "endpoints":
            _attach(service, guid, body, verb == "detach")
            return None
    raise HnsError(Code.UNSUPPORTED, f"{method} {path}")
