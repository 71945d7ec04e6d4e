"""Passthrough load balancers: health checks, backend services, forwarding rules."""

import re
from typing import Any

from sandbox.cloud import Request, ResourceType, Unique
from sandbox.gcp import addresses
from sandbox.gcp.groups import members
from sandbox.gcp.names import (
    AUTO_NAME,
    BACKEND,
    CHECK,
    COMPUTE,
    FORWARDING,
    GROUP,
    NAMED,
    NETWORK,
    SUBNETWORK,
    id_of,
    in_use,
    invalid,
    link,
    own_name,
    points_to,
)
from sandbox.gcp.quotas import QUOTAS

PORTS = 5
"""Number of ports that a forwarding rule names, unless it takes all ("Forwarding rules overview")."""
_CHECKS = ("httpHealthCheck", "httpsHealthCheck", "http2HealthCheck", "tcpHealthCheck", "sslHealthCheck")
_CHECKS += ("grpcHealthCheck", "grpcTlsHealthCheck")
_SCHEMES = "EXTERNAL|EXTERNAL_MANAGED|INTERNAL|INTERNAL_MANAGED"
_CREATED = "2026-01-01T00:00:00.000-08:00"


def _interval(request: Request) -> None:
    timeout, interval = request.inputs.get("timeoutSec", 5), request.inputs.get("checkIntervalSec", 5)
    if timeout > interval:
        raise invalid("timeoutSec", timeout, f"TimeoutSec should be less than or equal to checkIntervalSec {interval}.")
    for name in _CHECKS:
        port = (request.inputs.get(name) or {}).get("port")
        if port is not None and not 1 <= port <= 65535:
            raise invalid(f"{name}.port", port, "Must be between 1 and 65535.")


def _kind(request: Request) -> dict[str, Any]:
    given = next((name for name in _CHECKS if request.inputs.get(name) is not None), "")
    return {
        "type": given.removesuffix("HealthCheck").upper(),
        "region": request.region,
        "healthCheckId": int(request.digits(15, "id"), 16),
    }


def _backend(request: Request) -> None:
    """Check an internal service: a health check, and zonal groups in one network, balanced by connection."""
    scheme, inputs = request.inputs.get("loadBalancingScheme"), request.inputs
    if scheme in ("INTERNAL", "EXTERNAL") and not inputs.get("healthChecks"):
        raise invalid("healthChecks", "", "At least one health check must be specified.")
    if scheme in ("INTERNAL", "EXTERNAL") and inputs.get("protocol", "HTTP") not in ("TCP", "UDP", "UNSPECIFIED"):
        raise invalid(
            "protocol", inputs.get("protocol", "HTTP"), f"{scheme} backend services take TCP, UDP or UNSPECIFIED."
        )
    networks: set[str] = set()
    for each in inputs.get("backends") or []:
        if scheme in ("INTERNAL", "EXTERNAL") and each.get("balancingMode", "UTILIZATION") != "CONNECTION":
            raise invalid("backends[0].balancingMode", each.get("balancingMode", "UTILIZATION"), "Must be CONNECTION.")
    for id in points_to(GROUP, "backends[].group").ids(request):
        record = request.cloud_state.find(GROUP, id)
        if record is None:
            raise invalid("backends[0].group", id, "The referenced group resource cannot be found.")
        networks.add(record.outputs["network"])
    if len(networks - {""}) > 1:
        raise invalid("backends", "", "All instance groups of a backend service must be in one network.")


_BALANCED = Unique(
    "balanced instance",
    (),
    "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS",
    "googleapi: Error 400: An instance can be in one load balanced instance group only.",
)


def _balanced(request: Request) -> list[tuple[Unique, str]]:
    scheme, claims = request.inputs.get("loadBalancingScheme"), list[tuple[Unique, str]]()
    for id in points_to(GROUP, "backends[].group").ids(request):
        record = request.cloud_state.find(GROUP, id)
        claims += [(_BALANCED, f"{scheme} {each}") for each in (members(request.cloud_state, record) if record else [])]
    return claims


def _forwarding(request: Request) -> None:
    inputs, scheme = request.inputs, request.inputs.get("loadBalancingScheme", "EXTERNAL")
    service = request.cloud_state.find(BACKEND, (points_to(BACKEND, "backendService").ids(request) or [""])[0])
    if scheme == "INTERNAL" and service is None:
        raise invalid("backendService", "", "A backend service is required for internal load balancing.")
    if service and service.inputs.get("loadBalancingScheme", "EXTERNAL") != scheme:
        have = service.inputs.get("loadBalancingScheme")
        raise invalid("loadBalancingScheme", scheme, f"The scheme of backend service '{service.id}' is {have}.")
    if service and service.inputs.get("protocol", "HTTP") not in (inputs.get("ipProtocol", "TCP"), "UNSPECIFIED"):
        raise invalid("IPProtocol", inputs.get("ipProtocol", "TCP"), "It must be the protocol of the backend service.")
    if service and inputs.get("region") not in (None, service.outputs["region"]):
        raise invalid("backendService", service.id, "The backend service must be in the region of the forwarding rule.")
    ports = inputs.get("ports") or []
    if len(ports) > PORTS:
        raise invalid("ports", ports, f"At most {PORTS} ports can be specified.")
    if scheme == "INTERNAL" and not ports and not inputs.get("allPorts"):
        raise invalid("ports", "", "Ports must be specified for internal load balancing.")
    for port in ports:
        if not str(port).isdecimal() or not 1 <= int(port) <= 65535:
            raise invalid("ports[0]", port, "Must be an integer between 1 and 65535.")
    _place(request, scheme)


def _place(request: Request, scheme: str) -> None:
    subnetwork = points_to(SUBNETWORK, "subnetwork").ids(request)
    if scheme == "INTERNAL" and not subnetwork:
        raise invalid(
            "subnetwork", "", "A subnetwork of the network must be specified in a custom subnet mode network."
        )
    address = request.inputs.get("ipAddress")
    if scheme == "INTERNAL" and address:
        addresses.check(request, "IPAddress", subnetwork[0], addresses.resolve(request.cloud_state, address))


def _address(request: Request) -> str:
    """Return the address of the rule: the given one, the present one, or a new one."""
    given, subnetwork = request.inputs.get("ipAddress"), points_to(SUBNETWORK, "subnetwork").ids(request)
    if request.old:
        return str(request.old.outputs["ipAddress"])
    if given:
        return addresses.resolve(request.cloud_state, given)
    return addresses.free(request, subnetwork[0]) if subnetwork else addresses.public(request, "address")


def _rule_outputs(request: Request) -> dict[str, Any]:
    network = points_to(NETWORK, "network").ids(request)
    return {
        "ipAddress": _address(request),
        "region": request.region,
        "networkTier": "PREMIUM",
        "serviceName": "",
        "network": COMPUTE + network[0] if network else "",
        **{
            name: COMPUTE + points_to(type, name).ids(request)[0]
            for name, type in (("subnetwork", SUBNETWORK), ("backendService", BACKEND))
            if request.inputs.get(name)
        },
    }


def _used(request: Request) -> list[tuple[Unique, str]]:
    given = request.old.outputs["ipAddress"] if request.old else request.inputs.get("ipAddress")
    if not given:
        return []
    address = addresses.resolve(request.cloud_state, given)
    subnetwork = [*points_to(SUBNETWORK, "subnetwork").ids(request), ""][0]
    return [(addresses.taken(address), addresses.key(subnetwork, address))]


_WHOLE = ("name", "project", "region")

TYPES: dict[str, ResourceType] = {
    CHECK: ResourceType(
        id=id_of(CHECK),
        immutable=_WHOLE,
        chosen=_WHOLE,
        fallback={"checkIntervalSec": 5, "timeoutSec": 5, "healthyThreshold": 2, "unhealthyThreshold": 2},
        outputs={"project": "{account}", "selfLink": link(CHECK), "creationTimestamp": _CREATED},
        derive=_kind,
        auto_name=AUTO_NAME,
        patterns=NAMED,
        ranges={"checkIntervalSec": (1, 300), "healthyThreshold": (1, 10), "unhealthyThreshold": (1, 10)},
        at_most_one=(_CHECKS,),
        at_least_one=(_CHECKS,),
        unique=(own_name(CHECK),),
        in_use=in_use("health_check"),
        rules=(_interval,),
    ),
    BACKEND: ResourceType(
        id=id_of(BACKEND),
        immutable=(*_WHOLE, "network", "loadBalancingScheme"),
        chosen=(*_WHOLE, "sessionAffinity", "timeoutSec", "portName", "localityLbPolicy", "logConfig", "cdnPolicy"),
        fallback={"loadBalancingScheme": "INTERNAL", "connectionDrainingTimeoutSec": 0},
        outputs={
            "project": "{account}",
            "selfLink": link(BACKEND),
            "creationTimestamp": _CREATED,
            "fingerprint": "{hex:11}",
        },
        derive=lambda request: {"region": request.region, "generatedId": int(request.digits(15, "id"), 16)},
        unordered=("backends", "healthChecks"),
        auto_name=AUTO_NAME,
        patterns={**NAMED, "loadBalancingScheme": (re.compile(_SCHEMES), _SCHEMES.replace("|", ", "))},
        ranges={"connectionDrainingTimeoutSec": (0, 3600)},
        references=(
            points_to(CHECK, "healthChecks"),
            points_to(GROUP, "backends[].group"),
            points_to(NETWORK, "network"),
        ),
        unique=(own_name(BACKEND),),
        claims=_balanced,
        in_use=in_use("region_backend_service"),
        rules=(_backend,),
    ),
    FORWARDING: ResourceType(
        id=id_of(FORWARDING),
        immutable=(
            *(*_WHOLE, "ipAddress", "ipProtocol", "loadBalancingScheme", "network", "subnetwork", "ports", "portRange"),
            *("backendService", "description", "networkTier", "serviceLabel"),
        ),
        chosen=(*_WHOLE, "ipAddress", "networkTier", "network", "subnetwork", "ipProtocol", "portRange", "allPorts"),
        fallback={"loadBalancingScheme": "EXTERNAL"},
        outputs={"project": "{account}", "selfLink": link(FORWARDING), "creationTimestamp": _CREATED},
        derive=lambda request: {"ipProtocol": "TCP", **_rule_outputs(request)},
        unordered=("ports",),
        completed=("network", "subnetwork", "ipAddress", "backendService"),
        auto_name=AUTO_NAME,
        patterns={**NAMED, "loadBalancingScheme": (re.compile(_SCHEMES), _SCHEMES.replace("|", ", "))},
        at_most_one=(("ports", "allPorts", "portRange"), ("backendService", "target")),
        references=(
            points_to(BACKEND, "backendService"),
            points_to(NETWORK, "network"),
            points_to(SUBNETWORK, "subnetwork"),
        ),
        unique=(own_name(FORWARDING),),
        claims=_used,
        rules=(_forwarding, QUOTAS.at_most("forwarding rules per region")),
    ),
}
