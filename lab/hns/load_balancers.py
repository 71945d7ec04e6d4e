"""Load balancers, which kube-proxy creates for Services."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from lab.hns import shapes
from lab.hns.errors import Code, HnsError
from lab.hns.service import Object, Service, upper

DSR = 1
"""Flag of a load balancer: the endpoint answers the client directly."""

MOST_ENDPOINTS = 1024
"""Endpoints of one load balancer (facts of kubernetes.io, Windows networking)."""

PORTS = 64
"""Dynamic ports that a load balancer without DSR reserves for each protocol (kubernetes/website#17930)."""

DYNAMIC_PORTS = 16384
"""Dynamic ports of a machine unless set otherwise (netsh int ipv4 show dynamicportrange)."""


def frontends(balancer: Mapping[str, Any]) -> set[tuple[str, int, int]]:
    """Return VIP, protocol and external port of each frontend; a NodePort's VIP is empty."""
    vips = balancer.get("FrontendVIPs") or [""]
    ports = balancer.get("PortMappings") or ()
    return {(vip, int(port.get("Protocol", 0)), int(port.get("ExternalPort", 0))) for vip in vips for port in ports}


def reserved(service: Service) -> list[Object]:
    """Return the dynamic ports that load balancers without DSR reserve, as `portpools` of the first API has them.

    Fields: what Azure/AgentBaker cleanupnetwork.ps1 reads of them; the ports themselves are ours.
    """
    reserving = [each for each in service.all("LoadBalancer") if not each.get("Flags", 0) & DSR]
    starts = [65536 - DYNAMIC_PORTS + PORTS * place for place in range(len(reserving))]
    ranges = [{"LowerPort": start, "UpperPort": start + PORTS - 1} for start in starts]
    parts = [{"RequiresHostPortReservation": True, "PortRanges": [each]} for each in ranges]
    return [{"PortPoolAllocations": parts}] if parts else []


def create(service: Service, wanted: str, text: str) -> Object:
    """Create a load balancer. Before HNS 12.0 it does not assign clients to one endpoint."""
    document = shapes.read("LoadBalancer", text)
    _check(service, document, None)
    if not service.build.session_affinity:
        for port in document["PortMappings"]:
            port.pop("DistributionType", None)
    document["HostComputeEndpoints"] = [upper(each) for each in document.get("HostComputeEndpoints") or ()]
    return service.add("LoadBalancer", document, wanted)


def modify(service: Service, guid: str, text: str) -> None:
    """Replace a load balancer's settings (hcsshim HostComputeLoadBalancer.Update). HNS 15.4 keeps them.

    Raises HnsError before 15.4.
    """
    balancer = service.get("LoadBalancer", guid)
    if service.build.version < (15, 4):
        raise HnsError(Code.UNSUPPORTED, "modify a load balancer")
    document = shapes.read("LoadBalancer", text)
    _check(service, document, balancer["ID"])
    document["HostComputeEndpoints"] = [upper(each) for each in document.get("HostComputeEndpoints") or ()]
    if service.build.modifies:
        balancer |= {**document, "ID": balancer["ID"]}


def delete(service: Service, guid: str) -> None:
    """Delete a load balancer."""
    del service.objects["LoadBalancer"][service.get("LoadBalancer", guid)["ID"]]


def _check(service: Service, document: Mapping[str, Any], own: str | None) -> None:
    flags, ports = int(document.get("Flags", 0)), document.get("PortMappings") or ()
    ids = document.get("HostComputeEndpoints") or ()
    used = [service.get("Endpoint", each) for each in ids]
    if not used or not ports or len(used) > MOST_ENDPOINTS:
        raise HnsError(Code.PARAMETER, f"{len(used)} endpoints and {len(ports)} ports")
    if len({each["HostComputeNetwork"] for each in used}) > 1:
        raise HnsError(Code.PARAMETER, "endpoints of two networks")
    try:
        for address in (*(document.get("FrontendVIPs") or ()), document.get("SourceVIP") or "0.0.0.0"):  # noqa: S104
            IPv4Address(address)
    except ValueError as error:
        raise HnsError(Code.PARAMETER, str(error)) from None
    if flags & DSR and not service.build.dsr:
        raise HnsError(Code.UNSUPPORTED, f"DSR with HNS {service.build.version}")
    others = [each for each in service.all("LoadBalancer") if each["ID"] != own]
    if any(frontends(document) & frontends(each) for each in others):
        raise HnsError(Code.FILE_EXISTS, f"a frontend exists: {sorted(frontends(document))}")
    reserving = [each for each in others if not each.get("Flags", 0) & DSR]
    if not flags & DSR and (len(reserving) + 1) * PORTS > DYNAMIC_PORTS:
        raise HnsError(Code.PORT_EXISTS, f"{len(reserving)} load balancers without DSR have all dynamic ports")
