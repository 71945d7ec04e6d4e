"""Paths that the cluster needs, judged by the planned routes and firewall rules.

Without this check, a missing rule or route would show only as machines that wait in vain for their bundle or the API;
this module names it before anything is created.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from components.spec.models import ClusterSpec, Egress, Network, NetworkMode
from components.topology.addressing import ANYWHERE, INTERNET, NetworkPlan, Route, Subnet
from components.topology.firewall import API_PORT, HTTPS, KUBELET_PORT, Group, Rule, SecurityGroup
from components.topology.load_balancers import LoadBalancer
from components.topology.permitted import allows, lets_in

POD_PORTS = (("tcp", 53), ("tcp", 8080), ("udp", 53))
"""Ports of routed pods to judge: one in each range that the firewall rules open."""


@dataclass(frozen=True)
class Path:
    """A path that must exist. missing: the rule or route that it lacks; None if it is complete."""

    source: str
    destination: str
    way: str
    missing: str | None


def default_route(plan: NetworkPlan, subnet: str) -> Route | None:
    """Return the default route of a subnet; None if it has none."""
    for table in plan.tables:
        if subnet in table.subnets:
            return next((each for each in table.routes if each.destination == ANYWHERE), None)
    return None


def way_out(plan: NetworkPlan, subnet: Subnet) -> tuple[str, str | None]:
    """Return how a subnet's machines reach the internet, and what is missing; None if nothing is."""
    if plan.existing:  # the program looks its routes up: components/wiring/existing_network.py
        return "routes of the existing network", None
    route = default_route(plan, subnet.name)
    if route is None:
        return "no default route", f"subnet {subnet.name} has no route to {ANYWHERE}"
    if route.target == INTERNET:
        lacks = None if subnet.public else f"subnet {subnet.name} has no public addresses for its internet route"
        return "internet gateway", lacks
    gateway = next((each for each in plan.gateways if each.name == route.target), None)
    if gateway is None:
        return route.target, f"subnet {subnet.name} is routed to {route.target}, which does not exist"
    if not gateway.subnet:
        return gateway.name, None
    edge = plan.by_name.get(gateway.subnet)
    onward = default_route(plan, gateway.subnet)
    if edge is None or not edge.public or onward is None or onward.target != INTERNET:
        return gateway.name, f"{gateway.name} is in {gateway.subnet}, which has no route to the internet"
    return gateway.name, None


def _inside(rules: tuple[Rule, ...], hops: Iterable[SecurityGroup], protocol: str, port: int) -> str | None:
    for source, target in pairwise(hops):
        if missing := allows(rules, source, target, protocol, port):
            return missing
    return None


def paths(
    plan: NetworkPlan,
    rules: tuple[Rule, ...],
    groups: tuple[Group, ...],
    places: Mapping[SecurityGroup, list[Subnet]],
    network: Network,
) -> Iterator[Path]:
    """Yield every path that the cluster needs, for each group and subnet of machines.

    places: subnets in which each group has machines.
    """
    inside: Callable[..., str | None] = partial(_inside, rules)
    balancer = [SecurityGroup.API_INTERNAL] if SecurityGroup.API_INTERNAL in groups else []
    for group, subnets in places.items():
        for subnet in subnets:
            source = f"{group.value} in {subnet.name}"
            yield from _outside(plan, rules, network, group, subnet)
            if SecurityGroup.CONTROL_PLANE in groups:
                yield from _api_ways(rules, source, group, balancer)
            else:
                yield Path(source, "API", "firewall of the existing cluster", allows(rules, group, None, "tcp", HTTPS))
            for other in places:
                yield from _pod_ways(rules, network, source, group, other)
                kubelet = inside([group, other], "tcp", KUBELET_PORT)
                yield Path(source, f"kubelet of {other.value}", "direct", kubelet)
    if SecurityGroup.API_PUBLIC in groups:
        missing = inside([SecurityGroup.API_PUBLIC, SecurityGroup.CONTROL_PLANE], "tcp", API_PORT)
        if not any(each.group is SecurityGroup.API_PUBLIC and each.ingress for each in rules):
            missing = missing or "no inbound rule of api-public"
        yield Path("allowed ranges", "API", "public load balancer", missing)


def _api_ways(
    rules: tuple[Rule, ...], source: str, group: SecurityGroup, balancer: list[SecurityGroup]
) -> Iterator[Path]:
    """Yield the paths from a group's machines and pods to the API. balancer: its internal load balancer's group."""
    hops = [group, *([] if group is SecurityGroup.CONTROL_PLANE else balancer), SecurityGroup.CONTROL_PLANE]
    way = "load balancer" if len(hops) > 2 else "direct"
    yield Path(source, "API", way, _inside(rules, hops, "tcp", API_PORT))
    if len(hops) > 2:  # pods use the Service `kubernetes`: the addresses of the control-plane machines
        missing = _inside(rules, [group, SecurityGroup.CONTROL_PLANE], "tcp", API_PORT)
        yield Path(source, "API of pods", "direct", missing)


def _outside(
    plan: NetworkPlan, rules: tuple[Rule, ...], network: Network, group: SecurityGroup, subnet: Subnet
) -> Iterator[Path]:
    """Yield the paths from a group's machines in a subnet to the stores and to downloads."""
    source, out = f"{group.value} in {subnet.name}", allows(rules, group, None, "tcp", HTTPS)
    if network.egress is not Egress.NONE or plan.existing:  # existing: lookups judge its routes and endpoints
        how, lacks = way_out(plan, subnet)
        for destination in ("bundle store", "secret store", "downloads"):
            yield Path(source, destination, how, lacks or out)
        return
    table = next((each for each in plan.tables if subnet.name in each.subnets), None)
    if plan.endpoints:
        inside = allows(rules, group, SecurityGroup.ENDPOINTS, "tcp", HTTPS)
        if plan.gateway_endpoint:  # it is in the tables of machines' subnets
            without = None if table else f"subnet {subnet.name} has no route table for the endpoint of the store"
            yield Path(source, "bundle store", "gateway endpoint", without or out)
        else:
            yield Path(source, "bundle store", "private endpoint", inside)
        yield Path(source, "secret store", "private endpoint", inside)
    else:
        without = None if table and table.routes else f"subnet {subnet.name} has no route to the cloud's services"
        for destination in ("bundle store", "secret store"):
            yield Path(source, destination, "private access to the cloud's services", without or out)
    yield Path(source, "downloads", "proxy or mirror", out)  # whether there is one: components/checks/no_egress.py


def ingress_paths(rules: tuple[Rule, ...], spec: ClusterSpec, balancers: Iterable[LoadBalancer]) -> Iterator[Path]:
    """Yield the paths of clients and health checks through the load balancers of `ingress` to the workers."""
    workers, probes = SecurityGroup.WORKERS, spec.cloud.facts.probe_ranges
    for balancer in balancers:
        clients, way = spec.ingress.load_balancers[balancer.name].allow, f"load balancer {balancer.name}"
        for port, node_port in balancer.ports:
            if probes:
                lacks = [lets_in(rules, client, workers, "tcp", node_port) for client in clients]
            else:
                lacks = [lets_in(rules, client, balancer.group, "tcp", port) for client in clients]
                lacks.append(allows(rules, balancer.group, workers, "tcp", node_port))
            missing = next(filter(None, lacks), None)
            yield Path("allowed ranges", f"node port {node_port} of workers", way, missing)
        for port in balancer.probed_ports:
            checks = [lets_in(rules, probe, workers, "tcp", port) for probe in probes]
            if not probes:
                checks = [allows(rules, balancer.group, workers, "tcp", port)]
            yield Path(way, f"port {port} of workers", "health check", next(filter(None, checks), None))


def _pod_ways(
    rules: tuple[Rule, ...], network: Network, source: str, group: SecurityGroup, other: SecurityGroup
) -> Iterator[Path]:
    """Yield the paths from a group's pods and machines to another group's pods: by VXLAN, or by cloud routes
    (NET-05).
    """
    if network.mode is not NetworkMode.L2BRIDGE:
        missing = allows(rules, group, other, "udp", network.port)
        yield Path(source, f"{other.value} {network.port}/udp", "direct", missing)
        return
    for protocol, port in POD_PORTS:
        missing = allows(rules, group, other, protocol, port) or lets_in(rules, network.pods, other, protocol, port)
        yield Path(source, f"pods of {other.value} {port}/{protocol}", "routed", missing)
