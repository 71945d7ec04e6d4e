"""Options for traffic from outside to node ports: load balancers of the cloud, and ranges that reach node ports."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from components.spec.options import Model

Port = Annotated[int, Field(ge=1, le=65535)]


class ForwardedPort(Model):
    """A TCP port of a load balancer, and the node port that it forwards to."""

    port: Port
    """Port at which clients connect. On GCP it must be the node port."""
    node_port: Port
    """Node port of a Service, `nodePort` in its manifest."""


class HealthCheck(Model):
    """How a load balancer finds out which machines take connections."""

    port: Port | None = None
    """Port to check: a node port or kube-proxy's 10256. Default: each node port; on GCP, or with a path, the first."""
    path: Annotated[str, Field(pattern=r"^/[!-~]{0,255}$")] | None = None
    """Path that must answer an HTTP request with 200. Default: none, a TCP connection is enough."""


class LoadBalancer(Model):
    """A TCP load balancer of the cloud in front of the machines of pools."""

    pools: list[str]
    """Pools whose machines get the connections."""
    ports: list[ForwardedPort]
    """TCP ports, and the node ports that they forward to."""
    allow: list[IPv4Network]
    """Ranges that may connect; 0.0.0.0/0 is everybody."""
    internal: bool = False
    """Whether its address is private, for clients in the cluster's and connected networks; else it is public."""
    health: HealthCheck = HealthCheck()
    """How it finds out which machines take connections."""


class NodePorts(Model):
    """Node ports that clients reach at the addresses of the workers, without a load balancer."""

    ports: list[Port] = []
    """TCP node ports to open on all workers."""
    allow: list[IPv4Network] = []
    """Ranges that may connect."""


class Ingress(Model):
    """Traffic from outside to node ports, without a cloud controller."""

    load_balancers: dict[str, LoadBalancer] = {}
    """Load balancers, by name."""
    node_ports: NodePorts = NodePorts()
    """Node ports that clients reach at the addresses of the workers."""

    @property
    def is_public(self) -> bool:
        """Whether a load balancer has a public address."""
        return any(not balancer.internal for balancer in self.load_balancers.values())
