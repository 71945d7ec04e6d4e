"""What the load balancers of one cloud cannot do: ports, machines, numbers."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

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

MOST_RULES = 60
"""Inbound, and outbound, rules of a security group of AWS ("Amazon VPC quotas")."""


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
    if subject.spec.cloud is not Cloud.AWS or subject.spec.ingress == type(subject.spec.ingress)():
        return
    counts = Counter((rule.group.value, rule.ingress) for rule in rules(subject.spec))
    for (group, _), count in counts.items():
        if count > MOST_RULES and not group.startswith("api-"):
            yield at("ingress", group=group, count=count, most=MOST_RULES)


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
    mode, addresses = config.get("mode"), config.get("nodePortAddresses") or []
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
        "the security group {group} would have {count} rules in one direction; AWS takes {most} by default",
        "list fewer ranges or ports",
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
