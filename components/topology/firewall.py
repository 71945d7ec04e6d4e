"""The table of firewall rules. Each cloud's firewall module creates these rules and no others.

A row has sources, targets, ports and a reason. Groups: the control plane, the workers, load balancers, and private
endpoints.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network

from components import naming
from components.spec.models import ApiAccess, ClusterSpec, ExistingCluster, MachineAccess, NetworkMode
from components.topology.addressing import ANYWHERE, bastion_range
from components.topology.load_balancers import LoadBalancer, LoadBalancerGroup, load_balancers
from components.topology.private_endpoints import guarded_endpoints
from components.topology.private_ranges import inside_clients

API_PORT = 6443
HTTPS = 443
KUBELET_PORT = 10250
SSH_PORT = 22
ETCD_PORTS = (2379, 2380)
NODE_PORTS = (30000, 32767)


class SecurityGroup(str, Enum):
    """Machines or load balancers that a rule applies to."""

    CONTROL_PLANE = naming.CONTROL_PLANE
    WORKERS = naming.WORKERS
    API_INTERNAL = "api-internal"
    API_PUBLIC = "api-public"
    ENDPOINTS = "endpoints"


Group = SecurityGroup | LoadBalancerGroup
NODES = (SecurityGroup.CONTROL_PLANE, SecurityGroup.WORKERS)
BALANCERS = (SecurityGroup.API_INTERNAL, SecurityGroup.API_PUBLIC)
"""Load balancers of the API."""
ALL_PORTS = (0, 65535)


@dataclass(frozen=True)
class Rule:
    """One permission: `peer` can send to `group` (ingress) or receive from it (egress)."""

    name: str
    group: Group
    ingress: bool
    peer: Group | IPv4Network
    protocol: str
    """tcp, udp, or all."""
    ports: tuple[int, int]
    why: str
    """Description: at most 255 characters that AWS accepts, without quotes."""


@dataclass(frozen=True)
class _Row:
    name: str
    targets: tuple[Group, ...]
    sources: tuple[Group | IPv4Network, ...]
    protocol: str
    ports: tuple[int, int]
    why: str


def load_balanced(spec: ClusterSpec) -> bool:
    """Return whether nodes reach the API through an internal load balancer."""
    return spec.control_plane.count > 1


def groups(spec: ClusterSpec) -> tuple[Group, ...]:
    """Return the groups of this cluster."""
    if spec.existing_cluster:
        return (SecurityGroup.WORKERS,)
    endpoints = (SecurityGroup.ENDPOINTS,) if guarded_endpoints(spec) else ()
    if spec.cloud.facts.probe_ranges:
        return (*NODES, *endpoints)
    internal = (SecurityGroup.API_INTERNAL,) if load_balanced(spec) else ()
    public = (SecurityGroup.API_PUBLIC,) if spec.api.access is ApiAccess.PUBLIC else ()
    return (*NODES, *internal, *public, *endpoints, *(balancer.group for balancer in load_balancers(spec)))


def _joined_rows(cluster: ExistingCluster, vxlan: int) -> list[_Row]:
    """Return the rows of pools that join an existing cluster. The rules of its own machines are its owner's."""
    opened: list[tuple[str, str, tuple[int, int], str]] = [
        ("vxlan", "udp", (vxlan, vxlan), "pod traffic between nodes"),
        ("kubelet", "tcp", (KUBELET_PORT, KUBELET_PORT), "exec, logs and metrics"),
    ]
    opened += [(f"nodeport-{each}", each, NODE_PORTS, "Services of type NodePort") for each in ("tcp", "udp")]
    sources = (SecurityGroup.WORKERS, *cluster.nodes)
    targets = (SecurityGroup.WORKERS,)
    return [_Row(name, targets, sources, protocol, ports, why) for name, protocol, ports, why in opened]


def _rows(spec: ClusterSpec) -> list[_Row]:
    if spec.existing_cluster:
        return _joined_rows(spec.existing_cluster, spec.network.port)
    control_plane, workers = (SecurityGroup.CONTROL_PLANE,), (SecurityGroup.WORKERS,)
    api = (API_PORT, API_PORT)
    balancers = tuple(each for each in groups(spec) if isinstance(each, SecurityGroup) and each in BALANCERS)
    return [
        *_pod_rows(spec),
        # from workers: metrics-server and other collectors of metrics, whose packets have their node's address
        _Row("kubelet", NODES, NODES, "tcp", (KUBELET_PORT, KUBELET_PORT), "exec, logs and metrics"),
        *(
            _Row(f"exporter-{port}", NODES, NODES, "tcp", (port, port), "metrics exporter on machines")
            for port in spec.network.exporter_ports
        ),
        _Row("nodeport-tcp", NODES, NODES, "tcp", NODE_PORTS, "Services of type NodePort"),
        _Row("nodeport-udp", NODES, NODES, "udp", NODE_PORTS, "Services of type NodePort"),
        _Row("etcd", control_plane, control_plane, "tcp", ETCD_PORTS, "etcd clients and peers"),
        _Row(
            "api-peers", control_plane, control_plane, "tcp", api, "control planes use a peer until their own API is up"
        ),
        # also with a load balancer: the Service `kubernetes` has the addresses of the control-plane machines
        _Row("api", control_plane, workers, "tcp", api, "nodes and their pods to the API"),
        *(
            [_Row("api", (SecurityGroup.API_INTERNAL,), workers, "tcp", api, "nodes to the load balancer of the API")]
            if SecurityGroup.API_INTERNAL in balancers
            else []
        ),
        _people_row(spec),
        *(
            [_Row("api-balanced", control_plane, balancers, "tcp", api, "load balancer to the API")]
            if balancers
            else []
        ),
        *_probe_rows(spec),
        *_session_rows(spec),
        *_endpoint_rows(spec),
        *(row for balancer in load_balancers(spec) for row in _ingress_rows(spec, balancer)),
        *(
            _Row(f"node-port-{port}", workers, tuple(spec.ingress.node_ports.allow), "tcp", (port, port), "node port")
            for port in spec.ingress.node_ports.ports
        ),
    ]


def _ingress_rows(spec: ClusterSpec, balancer: LoadBalancer) -> Iterator[_Row]:
    """Yield the rows of a load balancer of `ingress`.

    A passthrough load balancer keeps the client's address, so the workers admit its clients and probes. On AWS they
    admit its security group, which stands for its clients too ("Security groups for your Network Load Balancer").
    """
    name, workers = balancer.name, (SecurityGroup.WORKERS,)
    clients = tuple(spec.ingress.load_balancers[name].allow)
    probes = spec.cloud.facts.probe_ranges
    if not probes:
        for port, _ in balancer.ports:
            yield _Row(f"port-{port}", (balancer.group,), clients, "tcp", (port, port), f"clients of {name}")
        for port in balancer.open_ports:
            yield _Row(f"port-{port}", workers, (balancer.group,), "tcp", (port, port), f"load balancer {name}")
        return
    for port in balancer.node_ports:
        yield _Row(f"ingress-{name}-{port}", workers, clients, "tcp", (port, port), f"clients of load balancer {name}")
    for port in balancer.probed_ports:
        why = f"health probes of load balancer {name}"
        yield _Row(f"ingress-{name}-probes-{port}", workers, probes, "tcp", (port, port), why)


def _endpoint_rows(spec: ClusterSpec) -> Iterator[_Row]:
    """Yield the row for private endpoints, which see pods with their node's address (components/node/cni.py)."""
    if guarded_endpoints(spec):
        https, why = (HTTPS, HTTPS), "services of the cloud, by private endpoints"
        yield _Row("https", (SecurityGroup.ENDPOINTS,), NODES, "tcp", https, why)


def _session_sources(spec: ClusterSpec) -> tuple[IPv4Network, ...]:
    """Return the addresses from which the cloud's service, or its host in the network, connects to machines."""
    host = bastion_range(spec.network) if spec.cloud.facts.session_host else None
    return (*spec.cloud.facts.session_sources, *((host,) if host else ()))


def _session_rows(spec: ClusterSpec) -> Iterator[_Row]:
    """Yield the rows for sessions that the cloud's service carries to the API, and to SSH of Linux machines."""
    sources = _session_sources(spec)
    if spec.access is MachineAccess.SESSION and sources:
        behind, api = (SecurityGroup.CONTROL_PLANE,), (API_PORT, API_PORT)
        yield _Row("session-api", behind, sources, "tcp", api, "sessions to the API, by the cloud's service")
        if not spec.cloud.facts.session_host:
            yield _Row("session-ssh", NODES, sources, "tcp", (SSH_PORT, SSH_PORT), "sessions, by the cloud's service")


def _people_row(spec: ClusterSpec) -> _Row:
    """Return the row for people in api.allow, who ask the load balancer of a public or private API, or a control plane.

    A passthrough load balancer has no group, and keeps their addresses.
    """
    public = spec.api.access is ApiAccess.PUBLIC
    balancer = SecurityGroup.API_PUBLIC if public else SecurityGroup.API_INTERNAL
    people, api = tuple(spec.api.allow) if public else inside_clients(spec), (API_PORT, API_PORT)
    name, asked = ("api", balancer) if balancer in groups(spec) else ("api-people", SecurityGroup.CONTROL_PLANE)
    return _Row(name, (asked,), people, "tcp", api, "people, from the allow list")


def _probe_rows(spec: ClusterSpec) -> Iterator[_Row]:
    """Yield the row for health probes of passthrough load balancers of the API."""
    probes = spec.cloud.facts.probe_ranges
    if probes and (spec.api.access is ApiAccess.PUBLIC or load_balanced(spec)):
        api, why = (API_PORT, API_PORT), "health probes of the load balancers"
        yield _Row("api-probes", (SecurityGroup.CONTROL_PLANE,), probes, "tcp", api, why)


def _pod_rows(spec: ClusterSpec) -> list[_Row]:
    """Return the rows for pod traffic: encapsulated between nodes (NET-13), or routed from the pod range (NET-05).

    Routed packets of a node to another node's pods come from the node's group. Only the control plane can reach etcd.
    """
    if spec.network.mode is not NetworkMode.L2BRIDGE:
        vxlan = (spec.network.port, spec.network.port)
        return [_Row("vxlan", NODES, NODES, "udp", vxlan, "pod traffic between nodes")]
    sources, why = (spec.network.pods, *NODES), "pods, and nodes to pods"
    below, above = (1, ETCD_PORTS[0] - 1), (ETCD_PORTS[1] + 1, 65535)
    return [
        _Row("pods", (SecurityGroup.WORKERS,), sources, "all", ALL_PORTS, why),
        _Row("pods-tcp-below-etcd", (SecurityGroup.CONTROL_PLANE,), sources, "tcp", below, why),
        _Row("pods-tcp-above-etcd", (SecurityGroup.CONTROL_PLANE,), sources, "tcp", above, why),
        _Row("pods-udp", (SecurityGroup.CONTROL_PLANE,), sources, "udp", (1, 65535), why),
    ]


def peer_name(peer: Group | IPv4Network) -> str:
    """Return a peer as in names of rules: a group, or a range without a slash."""
    return str(peer).replace("/", "-") if isinstance(peer, IPv4Network) else peer.value


def rules(spec: ClusterSpec) -> tuple[Rule, ...]:
    """Return all rules of the cluster. Their names are unique and stable, because cloud resources have them."""
    ingress = [
        Rule(
            f"{target.value}-{row.name}-from-{peer_name(source)}",
            target,
            True,
            source,
            row.protocol,
            row.ports,
            row.why,
        )
        for row in _rows(spec)
        for target in row.targets
        for source in row.sources
    ]
    out = [
        Rule(
            f"{node.value}-out",
            node,
            False,
            ANYWHERE,
            "all",
            ALL_PORTS,
            "all outgoing traffic: downloads, image pulls, workloads",
        )
        for node in NODES
        if node in groups(spec)
    ]
    checked = [
        Rule(
            f"{group.value}-out",
            group,
            False,
            SecurityGroup.CONTROL_PLANE,
            "tcp",
            (API_PORT, API_PORT),
            "balancer to API and checks",
        )
        for group in groups(spec)
        if isinstance(group, SecurityGroup) and group in BALANCERS
    ]
    forwarded = [
        Rule(
            f"{group.value}-out-{port}", group, False, SecurityGroup.WORKERS, "tcp", (port, port), "traffic and checks"
        )
        for balancer in load_balancers(spec)
        if (group := balancer.group) in groups(spec)
        for port in balancer.open_ports
    ]
    return (*ingress, *out, *checked, *forwarded)
