"""Load balancers and open node ports of `ingress`: names, pools, ports, ranges. Limits of clouds: ingress_limits.py."""

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from itertools import combinations

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.ingress import LoadBalancer
from components.spec.kubeadm_flags import flags
from components.spec.models import Egress
from components.topology.firewall import API_PORT, NODE_PORTS
from components.topology.load_balancers import address_offset
from components.topology.private_ranges import is_private

NAME = re.compile(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?")
"""Name of a load balancer. Target groups of AWS have at most 32 characters: cluster, name, node port, suffix."""

KUBE_PROXY_HEALTH = 10256
"""Port of kube-proxy's health check (KubeProxyConfiguration.healthzBindAddress)."""

CLOSED = (22, 2379, 2380, 3389, 5985, 5986, API_PORT, 10250)
"""Ports that the policy pack lets nobody open to public addresses (policies/rules/exposure.py)."""

BalancerRule = Callable[[Subject, str, LoadBalancer], Iterator[Finding]]


def each_balancer(rule: BalancerRule) -> Rule:
    """Return the rule for every load balancer of a spec."""

    def checked(subject: Subject) -> Iterator[Finding]:
        for name, balancer in subject.spec.ingress.load_balancers.items():
            yield from rule(subject, name, balancer)

    return checked


def of(name: str, *path: object, **values: object) -> Finding:
    """Return a finding at an option of a load balancer."""
    return at("ingress", "load_balancers", name, *path, **values)


def node_port_range(subject: Subject) -> tuple[int, int]:
    """Return the API server's range of node ports: the default, or the flag's value in kubeadm.config."""
    server = subject.spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer")
    for _, name, value in flags(server, ()):
        found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", f"{value}")
        if name == "service-node-port-range" and found:
            return int(found[1]), int(found[2])
    return NODE_PORTS


def _name(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    if not NAME.fullmatch(name):
        yield of(name, value=name)


def _empty(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for option in ("pools", "ports", "allow"):
        if not getattr(balancer, option):
            yield of(name, option, option=option)


def _half(subject: Subject) -> Iterator[Finding]:
    opened = subject.spec.ingress.node_ports
    if bool(opened.ports) != bool(opened.allow):
        yield at("ingress", "node_ports", missing="allow" if opened.ports else "ports")


def _pools(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for index, pool in enumerate(balancer.pools):
        if pool not in subject.spec.pools:
            yield of(name, "pools", index, value=pool, known=", ".join(sorted(subject.spec.pools)) or "none")


def _ports_twice(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for (_, one), (index, other) in combinations(enumerate(balancer.ports), 2):
        if one.port == other.port:
            yield of(name, "ports", index, "port", value=other.port)


def _allow_twice(subject: Subject) -> Iterator[Finding]:
    ingress = subject.spec.ingress
    lists: list[tuple[tuple[str, ...], list[IPv4Network] | list[int]]] = [
        *((("load_balancers", name, "allow"), balancer.allow) for name, balancer in ingress.load_balancers.items()),
        (("node_ports", "allow"), ingress.node_ports.allow),
        (("node_ports", "ports"), ingress.node_ports.ports),
    ]
    for path, values in lists:
        for index, value in enumerate(values):
            if value in values[:index]:
                yield at("ingress", *path, index, value=value)


def _node_ports(subject: Subject) -> Iterator[Finding]:
    first, last = node_port_range(subject)
    ingress, values = subject.spec.ingress, {"first": first, "last": last}
    for name, balancer in ingress.load_balancers.items():
        for index, forwarded in enumerate(balancer.ports):
            if not first <= forwarded.node_port <= last:
                yield of(name, "ports", index, "node_port", value=forwarded.node_port, **values)
        health = balancer.health.port
        if health not in (None, KUBE_PROXY_HEALTH) and not first <= health <= last:
            yield of(name, "health", "port", value=health, **values)
    for index, port in enumerate(ingress.node_ports.ports):
        if not first <= port <= last:
            yield at("ingress", "node_ports", "ports", index, value=port, **values)


def _closed_on_windows(subject: Subject) -> Iterator[Finding]:
    ingress, pools = subject.spec.ingress, subject.spec.pools
    windows = {name for name, pool in pools.items() if pool.os.is_windows}
    for name, balancer in ingress.load_balancers.items():
        for index, forwarded in enumerate(balancer.ports if windows & {*balancer.pools} else ()):
            if not NODE_PORTS[0] <= forwarded.node_port <= NODE_PORTS[1]:
                yield of(name, "ports", index, "node_port", value=forwarded.node_port)
        health = balancer.health.port if windows & {*balancer.pools} else None
        if health not in (None, KUBE_PROXY_HEALTH) and not NODE_PORTS[0] <= health <= NODE_PORTS[1]:
            yield of(name, "health", "port", value=health)


def _closed(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    if balancer.allow and all(map(is_private, balancer.allow)):
        return
    for index, forwarded in enumerate(balancer.ports):
        if {forwarded.port, forwarded.node_port} & {*CLOSED}:
            yield of(name, "ports", index, "port", value=forwarded.port)


def _not_routable(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for index, allowed in enumerate(balancer.allow):
        if not balancer.internal and is_private(allowed):
            yield of(name, "allow", index, value=allowed)


def _without_address(subject: Subject) -> Iterator[Finding]:
    if subject.spec.network.egress is Egress.PUBLIC:
        return
    for index, allowed in enumerate(subject.spec.ingress.node_ports.allow):
        if not is_private(allowed):
            yield at("ingress", "node_ports", "allow", index, value=allowed)


def _addresses(subject: Subject) -> Iterator[Finding]:
    internal = sorted(name for name, one in subject.spec.ingress.load_balancers.items() if one.internal)
    for one, other in combinations(internal, 2):
        if address_offset(one) == address_offset(other):
            yield of(other, other=one)


_READS = "ingress"

CHECKS = (
    error(
        "load-balancer-name",
        _READS,
        each_balancer(_name),
        "{value!r} cannot name a load balancer: the clouds' names contain it",
        "write at most 12 lower-case letters, digits and hyphens, first a letter, last no hyphen",
    ),
    error(
        "load-balancer-empty",
        _READS,
        each_balancer(_empty),
        "the list is empty, so nobody could connect through this load balancer",
        "write at least one item in {option}",
    ),
    error(
        "node-ports-half",
        _READS,
        _half,
        "ports and allow of node_ports belong together, and {missing} is empty",
        "list both, or remove node_ports",
    ),
    error(
        "load-balancer-pool-unknown",
        f"{_READS} pools",
        each_balancer(_pools),
        "there is no pool {value}",
        "write a pool of this stack: {known}",
    ),
    error(
        "load-balancer-port-twice",
        _READS,
        each_balancer(_ports_twice),
        "port {value} is listed twice",
        "keep one: a load balancer forwards a port to one node port",
    ),
    error(
        "ingress-twice",
        _READS,
        _allow_twice,
        "{value} is listed twice",
        "keep one: the cloud refuses the same rule twice",
    ),
    error(
        "node-port-range",
        f"{_READS} kubeadm.config",
        _node_ports,
        "no Service can have node port {value}: the API server gives out {first} to {last}",
        "write a node port of that range; for a health check 10256, of kube-proxy, works too",
    ),
    error(
        "node-port-closed-on-windows",
        f"{_READS} pools",
        _closed_on_windows,
        "the firewall of Windows machines lets in node ports 30000 to 32767 only, not {value}",
        "write a node port of that range, or pools of Linux machines",
    ),
    error(
        "load-balancer-port-closed",
        _READS,
        each_balancer(_closed),
        "port {value} is one of the Kubernetes API, of etcd, kubelets or administration, which no public address may"
        " reach",
        "write another port, or list private ranges only in allow",
    ),
    warning(
        "load-balancer-not-routable",
        _READS,
        each_balancer(_not_routable),
        "{value} is a private range, and a public load balancer sees only public addresses",
        "list public addresses, or write internal: true",
    ),
    warning(
        "node-ports-unreachable",
        f"{_READS} network.egress",
        _without_address,
        "{value} has public addresses, but machines have none: only connected networks reach them",
        "list private ranges of connected networks, use a load balancer, or write egress: public",
    ),
    error(
        "load-balancer-addresses-meet",
        _READS,
        _addresses,
        "this internal load balancer and {other} would have the same address, which follows from the name",
        "rename one of them",
    ),
)
