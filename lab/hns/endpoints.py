"""Endpoints: addresses, policies, and where they are attached."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from lab.hns import networks, shapes
from lab.hns.errors import Code, HnsError
from lab.hns.service import REMOTE, Object, Service, policies, upper

HOST = "host"
"""Holder of an endpoint that is attached to the host; HNS lists no container for it."""

ONLY: Mapping[str, frozenset[str]] = {
    "ProviderAddress": frozenset({"Overlay"}),
    "SDNRoute": frozenset({"Overlay", "L2Bridge", "L2Tunnel"}),
    "OutBoundNAT": frozenset({"Overlay", "L2Bridge", "L2Tunnel"}),
    "L2Driver": frozenset({"L2Bridge", "L2Tunnel"}),
}
"""Types of networks that support a policy; a policy without a row works on all types."""


def address(endpoint: Mapping[str, Any]) -> str:
    """Return the endpoint's address; empty if it has none."""
    return next((each["IpAddress"] for each in endpoint.get("IpConfigurations") or () if each.get("IpAddress")), "")


def is_remote(endpoint: Mapping[str, Any]) -> bool:
    """Return whether the endpoint represents one on another machine."""
    return bool(endpoint.get("Flags", 0) & REMOTE)


def create(service: Service, network_id: str, wanted: str, text: str) -> Object:
    """Create an endpoint on a network."""
    network, document = service.get("Network", network_id), shapes.read("Endpoint", text)
    _check_address(service, network, document)
    for policy in document.get("Policies") or ():
        _check_policy(network, policy)
    remote = is_remote(document)
    if remote and network["Type"] == "Overlay" and not policies(document, "ProviderAddress"):
        raise HnsError(Code.INVALID_POLICY, "a remote endpoint of an overlay needs the address of its machine")
    more = {"HostComputeNetwork": network["ID"], "Policies": list(document.get("Policies") or ())}
    made = service.add("Endpoint", {**document, **more}, wanted)
    if not made.get("MacAddress"):
        made["MacAddress"] = networks.mac(made["ID"])
    made.setdefault("Name", "Ethernet")
    return made


def _check_address(service: Service, network: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    try:
        own = IPv4Address(address(document))
    except ValueError:
        raise HnsError(Code.ADDRESS_INVALID, f"address {address(document)!r}") from None
    if is_remote(document):
        return
    found = [each for each in networks.subnets(network) if own in each[0]]
    if not found:
        raise HnsError(Code.ADDRESS_INVALID, f"{own} is in no subnet of {network['Name']}")
    subnet, gateway = found[0]
    # kubernetes-sigs/sig-windows-tools#71: 0x803b002f for the first address of the range
    if own in (subnet.network_address, subnet.broadcast_address, gateway):
        raise HnsError(Code.ADDRESS_INVALID, f"{own} is reserved in {subnet}")
    taken = [each for each in service.endpoints(network["ID"]) if not is_remote(each) and address(each) == str(own)]
    if taken:
        raise HnsError(Code.OBJECT_EXISTS, f"{own} is the address of {taken[0]['Name']}")


def _check_policy(network: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
    kind, settings = policy["Type"], policy.get("Settings") or {}
    if kind in ONLY and network["Type"] not in ONLY[kind]:
        raise HnsError(Code.INVALID_POLICY_TYPE, f"{kind} on {network['Type']}")
    if kind == "ACL" and not {"Action", "Direction"} <= set(settings):
        raise HnsError(Code.INVALID_POLICY, f"ACL without action or direction: {dict(settings)}")
    try:
        ranges = [*settings.get("Exceptions", ()), *settings.get("Destinations", ())]
        for prefix in (*ranges, settings.get("DestinationPrefix"), settings.get("ProviderAddress")):
            if prefix is not None:
                networks.IPv4Network(prefix)
    except ValueError as error:
        raise HnsError(Code.INVALID_POLICY, f"{kind}: {error}") from None


def modify(service: Service, guid: str, text: str) -> None:
    """Add, remove or replace policies (hcsshim ModifyEndpointSettingRequest); other resources are not imitated."""
    endpoint, request = service.get("Endpoint", guid), shapes.read("Request", text)
    network, kind = service.get("Network", endpoint["HostComputeNetwork"]), request.get("RequestType")
    if request.get("ResourceType") != "Policy" or kind not in ("Add", "Remove", "Update"):
        raise HnsError(Code.UNSUPPORTED, f"{kind} {request.get('ResourceType')} of an endpoint")
    given = (request.get("Settings") or {}).get("Policies") or []
    for policy in given:
        shapes.check_policy("Endpoint", policy)
        _check_policy(network, policy)
    if kind == "Update":
        endpoint["Policies"] = list(given)
    elif kind == "Add":
        endpoint["Policies"] += given
    else:
        endpoint["Policies"] = [each for each in endpoint["Policies"] if each not in given]


def delete(service: Service, guid: str) -> None:
    """Delete an endpoint, and remove it from its namespace and containers."""
    endpoint = service.get("Endpoint", guid)
    for namespace in service.all("Namespace"):
        namespace["Resources"] = [each for each in namespace["Resources"] if each["Data"]["Id"] != endpoint["ID"]]
    for attached in service.containers.values():
        attached.discard(endpoint["ID"])
    del service.objects["Endpoint"][endpoint["ID"]]


def attach_to_host(endpoint: Object) -> None:
    """Attach an endpoint to the host's compartment."""
    if endpoint.get("_host"):
        raise HnsError(Code.ALREADY_ATTACHED, endpoint["Name"])
    endpoint["_host"] = True


def attach_to_container(service: Service, container: str, guid: str) -> None:
    """Attach an endpoint to a running container of Docker."""
    if container not in service.containers:
        raise HnsError(Code.NO_COMPUTE_SYSTEM, container)
    service.containers[container].add(service.get("Endpoint", guid)["ID"])


def holders(service: Service, endpoint: Mapping[str, Any]) -> list[str]:
    """Return what the endpoint is attached to: ids of containers, HOST, or the id of its namespace."""
    found = [name for name, attached in service.containers.items() if endpoint["ID"] in attached]
    if endpoint.get("_host"):
        found.append(HOST)
    if space := endpoint.get("HostComputeNamespace"):
        found.append(upper(space))
    return found
