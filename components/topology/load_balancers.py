"""Planned load balancers of `ingress`: machines, ports, health check, private addresses."""

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Address

from components.spec.ingress import LoadBalancer as Options
from components.spec.models import ClusterSpec
from components.topology.addressing import WORKER_OFFSET, NetworkPlan

FIRST_OFFSET = 16
"""Offset in a zone's subnet of the first address for internal load balancers, after those of control planes."""

ADDRESSES = WORKER_OFFSET - FIRST_OFFSET
"""Addresses of a zone's subnet for internal load balancers; the name decides which of them a load balancer gets."""


@dataclass(frozen=True)
class LoadBalancerGroup:
    """The security group of a load balancer of `ingress`, on clouds whose load balancers have security groups."""

    name: str
    """Name of the load balancer."""

    @property
    def value(self) -> str:
        """Name of the group."""
        return f"ingress-{self.name}"


@dataclass(frozen=True)
class LoadBalancer:
    """One load balancer of `ingress`."""

    name: str
    internal: bool
    pools: tuple[str, ...]
    """Names of its pools, sorted."""
    ports: tuple[tuple[int, int], ...]
    """Pairs of port and node port, sorted by port."""
    health_port: int | None
    """Port of the machines to check, for all node ports; None: each node port is checked itself."""
    health_path: str | None
    """Path of the HTTP request of the check; None: a TCP connection."""
    addresses: tuple[IPv4Address, ...]
    """Private addresses of an internal one: by zone, or one for the region; empty for a public one."""

    @property
    def group(self) -> LoadBalancerGroup:
        """Its security group, where it has one."""
        return LoadBalancerGroup(self.name)

    @property
    def node_ports(self) -> tuple[int, ...]:
        """Node ports, each once, sorted."""
        return tuple(sorted({node_port for _, node_port in self.ports}))

    def probed_port(self, node_port: int) -> int:
        """Return the port whose health check decides about connections to a node port."""
        return self.health_port or node_port

    @property
    def probed_ports(self) -> tuple[int, ...]:
        """Ports of the health checks, each once, sorted."""
        return tuple(sorted({self.probed_port(port) for port in self.node_ports}))

    @property
    def open_ports(self) -> tuple[int, ...]:
        """Node ports and ports of the health checks, each once, sorted."""
        return tuple(sorted({*self.node_ports, *self.probed_ports}))


def _health_port(options: Options, *, single: bool) -> int | None:
    """Return the one port to check; None: every node port. single: the cloud's load balancers have one health check.

    A path belongs to one port, because another may speak TLS.
    """
    first = options.ports[0].node_port if single or options.health.path else None
    return options.health.port or first


def address_offset(name: str) -> int:
    """Return the offset of an internal load balancer's address in a zone's subnet; only its name decides it."""
    return FIRST_OFFSET + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % ADDRESSES


def load_balancers(spec: ClusterSpec, network: NetworkPlan | None = None) -> tuple[LoadBalancer, ...]:
    """Return the load balancers of a spec, sorted by name. network: None leaves out their addresses."""
    return tuple(_planned(spec, name, network) for name in sorted(spec.ingress.load_balancers))


def _planned(spec: ClusterSpec, name: str, network: NetworkPlan | None) -> LoadBalancer:
    options = spec.ingress.load_balancers[name]
    subnets = network.machines if network and options.internal else ()
    addresses = tuple(subnet.cidr[address_offset(name)] for subnet in subnets)
    return LoadBalancer(
        name=name,
        internal=options.internal,
        pools=tuple(sorted(set(options.pools))),
        ports=tuple(sorted((forwarded.port, forwarded.node_port) for forwarded in options.ports)),
        health_port=_health_port(options, single=spec.cloud.facts.single_health_check),
        health_path=options.health.path,
        addresses=addresses if spec.cloud.facts.edge_subnets else addresses[:1],
    )
