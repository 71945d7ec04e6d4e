"""What the load balancers of one cloud cannot do: ports, machines, numbers."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from components.checks.check import Finding, Subject, at, error
from components.checks.ingress import each_balancer, of
from components.spec.ingress import LoadBalancer
from components.spec.models import Cloud
from components.spec.wording import shown
from components.topology.firewall import rules

MOST_PORTS = {Cloud.AWS: 50, Cloud.AZURE: 300, Cloud.GCP: 5}
"""Ports of a load balancer: listeners ("Quotas for your Network Load Balancers"), rules of a network interface ("Azure
Load Balancer limits"), ports of a forwarding rule ("Forwarding rules overview")."""

MOST_TARGETS = 500
"""Targets of a network load balancer whose zones share them, as Mullion's do, each target group counted ("Quotas for
your Network Load Balancers", note 3)."""

MOST_RULES = {Cloud.AWS: 60, Cloud.AZURE: 1000}
"""Rules of a security group: inbound, and outbound, on AWS ("Amazon VPC quotas"); all of Azure's network security group
("Azure networking limits")."""

MOST_GROUPS = 50
"""Instance groups of a backend service of GCP; Google raises it for nobody ("Load Balancing quotas and limits")."""


def _ports(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    most, count = MOST_PORTS[subject.spec.cloud], len(balancer.ports)
    if count > most:
        yield of(name, "ports", count=count, most=most)


def _targets(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    pools = [pool for key, pool in subject.spec.pools.items() if key in balancer.pools]
    groups = len({forwarded.node_port for forwarded in balancer.ports})
    count = sum(pool.count for pool in pools) * groups
    if subject.spec.cloud is Cloud.AWS and count > MOST_TARGETS:
        yield of(name, count=count, most=MOST_TARGETS)


def _rules(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud
    if cloud not in MOST_RULES or subject.spec.ingress == type(subject.spec.ingress)():
        return
    counts = Counter((rule.group.value, rule.ingress or cloud is Cloud.AZURE) for rule in rules(subject.spec))
    for (group, _), count in counts.items():
        if count > MOST_RULES[cloud] and not group.startswith("api-"):
            yield at("ingress", group=group, count=count, most=MOST_RULES[cloud])


def _groups(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    pools = [pool for key, pool in subject.spec.pools.items() if key in balancer.pools]
    count = sum(min(pool.count, subject.spec.network.zones) for pool in pools)
    if subject.spec.cloud is Cloud.GCP and count > MOST_GROUPS:
        yield of(name, "pools", count=count, most=MOST_GROUPS)


def _rules_of_interface(subject: Subject) -> Iterator[Finding]:
    """Azure counts the rules of all load balancers of a network interface."""
    most, balancers = MOST_PORTS[Cloud.AZURE], subject.spec.ingress.load_balancers
    for pool in subject.spec.pools if subject.spec.cloud is Cloud.AZURE else ():
        counts = {name: len(one.ports) for name, one in balancers.items() if pool in one.pools}
        if sum(counts.values()) > most and max(counts.values()) <= most:
            yield of(max(counts), "ports", pool=pool, count=sum(counts.values()), most=most)


def _one_for_each_interface(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AZURE:
        return
    for (one, first), (other, second) in combinations(sorted(subject.spec.ingress.load_balancers.items()), 2):
        shared = sorted({*first.pools} & {*second.pools})
        if first.internal == second.internal and shared:
            yield of(other, "pools", other=one, pool=shared[0], kind="internal" if first.internal else "public")


def _same_node_port(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AZURE:
        return
    for (_, one), (index, other) in combinations(enumerate(balancer.ports), 2):
        if one.node_port == other.node_port:
            yield of(name, "ports", index, "node_port", value=other.node_port)


def _translated(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for index, forwarded in enumerate(balancer.ports if subject.spec.cloud is Cloud.GCP else ()):
        if forwarded.port != forwarded.node_port:
            yield of(name, "ports", index, "port", port=forwarded.port, node_port=forwarded.node_port)


def _windows(subject: Subject, name: str, balancer: LoadBalancer) -> Iterator[Finding]:
    for index, pool in enumerate(balancer.pools if subject.spec.cloud is Cloud.GCP else ()):
        if pool in subject.spec.pools and subject.spec.pools[pool].os.is_windows:
            yield of(name, "pools", index, value=pool)


def _primary_only(subject: Subject) -> Iterator[Finding]:
    config = subject.spec.control_plane.kube_proxy.config
    mode, addresses = config.get("mode"), tuple[Any, ...](config.get("nodePortAddresses") or ())
    if subject.spec.cloud is not Cloud.GCP or not subject.spec.ingress.load_balancers:
        return
    if mode == "ipvs":  # its virtual servers have addresses of interfaces only, whatever nodePortAddresses says
        yield at("control_plane", "kube_proxy", "config", "mode", value=mode)
    elif "0.0.0.0/0" not in addresses and (addresses or mode == "nftables"):
        key = "nodePortAddresses" if addresses else "mode"
        yield at("control_plane", "kube_proxy", "config", key, value=shown(config.get(key)))


_READS = "ingress cloud"

CHECKS = (
    error(
        "load-balancer-ports-many",
        _READS,
        each_balancer(_ports),
        "{count} ports are more than one load balancer of this cloud takes, {most}",
        "divide them between several load balancers",
    ),
    error(
        "load-balancer-targets-many",
        f"{_READS} pools",
        each_balancer(_targets),
        "{count} targets (machines times node ports) are more than one load balancer of AWS takes by default, {most}",
        "name fewer pools or ports: every machine forwards to pods on all others",
    ),
    error(
        "ingress-rules-many",
        f"{_READS} api control_plane.count network.mode",
        _rules,
        "the security group {group} would have {count} rules; the cloud takes {most}, on AWS by default and in each"
        " direction",
        "list fewer ranges or ports",
    ),
    error(
        "load-balancer-groups-many",
        f"{_READS} pools network.zones",
        each_balancer(_groups),
        "{count} instance groups (pools times zones) are more than a backend service of GCP takes, {most}",
        "name fewer pools: every machine forwards to pods on all others",
    ),
    error(
        "load-balancer-interface-rules",
        f"{_READS} pools",
        _rules_of_interface,
        "machines of pool {pool} would have {count} ports behind all their load balancers; Azure takes {most} for a"
        " network interface",
        "remove ports, or put another pool behind one of the load balancers",
    ),
    error(
        "load-balancer-of-same-pool",
        _READS,
        _one_for_each_interface,
        "pool {pool} is also behind {other}; a machine on Azure can be behind one {kind} load balancer",
        "write the ports of both into one load balancer",
    ),
    error(
        "load-balancer-node-port-twice",
        _READS,
        each_balancer(_same_node_port),
        "node port {value} is listed twice, and Azure refuses two rules with one backend port"
        " (RulesUseSameBackendPortProtocolAndPool)",
        "give the Service a second port with a node port of its own",
    ),
    error(
        "load-balancer-port-translated",
        _READS,
        each_balancer(_translated),
        "a passthrough load balancer of GCP does not change ports, so nothing would answer {port}: the Service is at"
        " node port {node_port}",
        "write port: {node_port}; for lower ports widen service-node-port-range of the API server (docs/ingress.md)",
    ),
    error(
        "load-balancer-windows",
        f"{_READS} pools",
        each_balancer(_windows),
        "{value} is a Windows pool: packets of a passthrough load balancer of GCP, and its health checks, carry the"
        " load balancer's own address, which Windows machines drop (kubernetes issue 105918)",
        "name a pool of Linux machines: they forward to pods on Windows, with externalTrafficPolicy: Cluster",
    ),
    error(
        "node-ports-primary-only",
        f"{_READS} control_plane.kube_proxy.config",
        _primary_only,
        "with {value} kube-proxy answers node ports at addresses of a machine's interfaces only, but packets of a"
        " passthrough load balancer of GCP carry the load balancer's address (kubernetes issue 111863)",
        "write mode: iptables or nftables, and nodePortAddresses: [0.0.0.0/0], in control_plane.kube_proxy.config",
    ),
)
