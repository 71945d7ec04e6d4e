"""Subnets, routes and fixed addresses: pure arithmetic over the node range.

The node range is divided into quarters. The first holds the edge subnets (NAT gateways, public load balancers) and the
subnets of private endpoints, each other quarter the machines of one zone. So a change of the number of pools, machines
or edge subnets changes no address.
In an existing network the user's subnets take the place of the quarters; one subnet for several zones is divided.

Workers' addresses: slots.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from components.spec.models import ApiAccess, Cloud, Egress, ExistingNetwork, ExistingSubnet, NatGateways, Network

LARGEST_PREFIX, SMALLEST_PREFIX = 16, 22
"""Prefix lengths of the node range: an AWS VPC has at most a /16; in less than a /22 an edge subnet (a sixteenth) would
be smaller than the /27 that load balancers need, without room for the NAT gateway."""

CONTROL_PLANE_OFFSET = 10
"""Offset in a zone's subnet of the first control-plane address; clouds reserve its first four addresses and the
last."""

BALANCER_OFFSET = 5
"""Offset in a zone's subnet of the API's internal load balancer, fixed so that it cannot take a machine's address."""

ENDPOINT_OFFSET = 6
"""Offset in the first zone's subnet of private endpoints in an existing network; there are three, so they end before
control planes. They are fixed, so that they take no machine's address."""

WORKER_OFFSET, TAIL = 64, 16
"""Workers use a zone's subnet from offset WORKER_OFFSET to TAIL addresses before its end."""

ANYWHERE = IPv4Network("0.0.0.0/0")

NODE_PODS = 24
"""Prefix length of a node's pod range (IPP-02)."""

BASTION_PREFIX = 26
"""Prefix length of Azure Bastion's subnet: the smallest ("About Bastion configuration settings", subnet)."""

POD_START = 3
"""Offset in a node's pod range of the first pod address; before it are the gateway and the host's endpoint (IPP-04)."""


@dataclass(frozen=True)
class Subnet:
    """One subnet of one zone. `public`: its machines and gateways have public addresses."""

    name: str
    zone: int
    cidr: IPv4Network
    public: bool


@dataclass(frozen=True)
class Route:
    """A route: a range, and its target, `internet` or the name of a NAT gateway."""

    destination: IPv4Network
    target: str


@dataclass(frozen=True)
class RouteTable:
    """A route table of some subnets. Every table also has the route to the network's range."""

    name: str
    subnets: tuple[str, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class NatGateway:
    """A NAT gateway. subnet: its edge subnet, or "" on clouds whose gateways have none."""

    name: str
    subnet: str


INTERNET, ENDPOINTS = "internet", "endpoints"
"""Target of routes; beginning of the names of subnets for private endpoints."""


@dataclass(frozen=True)
class NetworkPlan:
    """The cloud network of one cluster."""

    cidr: IPv4Network
    zones: int
    zone_names: tuple[str, ...]
    """Names of the zones, or empty for the region's first zones, looked up once."""
    subnets: tuple[Subnet, ...]
    tables: tuple[RouteTable, ...]
    gateways: tuple[NatGateway, ...]
    existing: bool = False
    """Whether network, subnets and routes are the user's; then there are no route tables and gateways."""
    gateway_endpoint: bool = False
    """Whether the route tables have the endpoint of the stores (S3), which then have no private endpoint."""

    @cached_property
    def by_name(self) -> Mapping[str, Subnet]:
        """Subnets by name."""
        return {each.name: each for each in self.subnets}

    @property
    def edge(self) -> tuple[Subnet, ...]:
        """Subnets for gateways and public load balancers."""
        return tuple(each for each in self.subnets if each.name.startswith("edge"))

    @property
    def machines(self) -> tuple[Subnet, ...]:
        """Subnets for machines, by zone."""
        return tuple(each for each in self.subnets if each.name.startswith("machines"))

    @property
    def endpoints(self) -> tuple[Subnet, ...]:
        """Subnets for private endpoints: one in each zone, or one for the region."""
        return tuple(each for each in self.subnets if each.name.startswith(ENDPOINTS))

    @property
    def smallest(self) -> IPv4Network:
        """Range of the smallest of the machines' subnets, which decides the slots."""
        return max((each.cidr for each in self.machines), key=lambda cidr: cidr.prefixlen)

    @property
    def machine_tables(self) -> tuple[str, ...]:
        """Names of the route tables of machines' subnets."""
        names = {subnet.name for subnet in self.machines}
        return tuple(table.name for table in self.tables if names & set(table.subnets))


def network_plan(network: Network, access: ApiAccess, cloud: Cloud, *, ingress: bool = False) -> NetworkPlan:
    """Return subnets, route tables and NAT gateways. The node range must be a /16 to /22, which a check ensures.

    ingress: whether `ingress` has public load balancers, which stand in the edge subnets.
    """
    if network.existing:
        return _existing_plan(network, network.existing)
    quarters = list(network.nodes.subnets(prefixlen_diff=2))
    edges = list(quarters[0].subnets(prefixlen_diff=2))
    if network.egress is Egress.NONE:
        return _private_plan(network, quarters, cloud)
    public = network.egress is Egress.PUBLIC
    zones = range(network.zones)
    machines = [Subnet(f"machines-{zone}", zone, quarters[zone + 1], public) for zone in zones]
    with_edge = cloud.facts.edge_subnets and (not public or access is ApiAccess.PUBLIC or ingress)
    edge = [Subnet(f"edge-{zone}", zone, edges[zone], True) for zone in zones] if with_edge else []
    to_internet = Route(ANYWHERE, INTERNET)
    tables = [RouteTable("edge", tuple(each.name for each in edge), (to_internet,))] if edge else []
    gateways: list[NatGateway] = []
    if public:
        tables.append(RouteTable("machines", tuple(each.name for each in machines), (to_internet,)))
    else:
        zonal = network.nat_gateways is NatGateways.ZONAL
        subnets = [subnet.name for subnet in edge] or [""] * network.zones
        gateways = [NatGateway(f"nat-{zone}", name) for zone, name in enumerate(subnets if zonal else subnets[:1])]
        for subnet in machines:
            gateway = gateways[subnet.zone if zonal else 0].name
            tables.append(RouteTable(subnet.name, (subnet.name,), (Route(ANYWHERE, gateway),)))
    return NetworkPlan(
        network.nodes, network.zones, tuple(network.zone_names), (*edge, *machines), tuple(tables), tuple(gateways)
    )


def _private_plan(network: Network, quarters: Sequence[IPv4Network], cloud: Cloud) -> NetworkPlan:
    """Return subnets without a way to the internet; their routes lead to the cloud's own services (GCP).

    Private endpoints have subnets of their own, of a /22 a /28, so that they take no address of a machine: one in each
    zone (AWS), or one for the region (Azure), at the quarter's start, because sessions have its end (bastion_range).
    """
    zones, facts = range(network.zones), cloud.facts
    parts = list(quarters[0].subnets(prefixlen_diff=4))
    places = (parts[-4:][: network.zones] if facts.zonal_endpoints else parts[:1]) if facts.endpoint_subnets else []
    own = [Subnet(f"{ENDPOINTS}-{zone}", zone, part, False) for zone, part in enumerate(places)]
    subnets = (*own, *(Subnet(f"machines-{zone}", zone, quarters[zone + 1], False) for zone in zones))
    routes = tuple(Route(each, INTERNET) for each in facts.private_ranges)
    table = RouteTable("machines", tuple(each.name for each in subnets), routes)
    tables = (table,) if routes or facts.gateway_endpoints else ()
    names = tuple(network.zone_names)
    return NetworkPlan(
        network.nodes, network.zones, names, subnets, tables, (), gateway_endpoint=facts.gateway_endpoints
    )


def bastion_range(network: Network) -> IPv4Network | None:
    """Return the range of Azure Bastion's subnet: the user's, or the end of the first quarter, which is free on Azure.

    Return None if the user's network has no Bastion host.
    """
    if network.existing:
        return network.existing.bastion.range if network.existing.bastion else None
    quarter = next(network.nodes.subnets(prefixlen_diff=2))
    return list(quarter.subnets(new_prefix=BASTION_PREFIX))[-1]


def zone_ranges(subnets: Sequence[ExistingSubnet], zones: int) -> list[IPv4Network]:
    """Return the range of each zone in existing subnets: a subnet each, or parts of a single one of equal size."""
    ranges = [subnet.range for subnet in subnets]
    if len(ranges) == 1 and zones > 1:
        more = min((zones - 1).bit_length(), ranges[0].max_prefixlen - ranges[0].prefixlen)
        ranges = list(ranges[0].subnets(prefixlen_diff=more))
    return ranges[:zones]


def _existing_plan(network: Network, existing: ExistingNetwork) -> NetworkPlan:
    public = network.egress is Egress.PUBLIC
    ranges = zone_ranges(existing.subnets, network.zones)
    subnets = tuple(Subnet(f"machines-{zone}", zone, cidr, public) for zone, cidr in enumerate(ranges))
    return NetworkPlan(network.nodes, network.zones, tuple(network.zone_names), subnets, (), (), existing=True)


def control_plane_address(plan: NetworkPlan, index: int) -> IPv4Address:
    """Return the fixed address of a control-plane machine."""
    return plan.machines[index % plan.zones].cidr[CONTROL_PLANE_OFFSET + index // plan.zones]


def control_plane_ranges(plan: NetworkPlan) -> list[IPv4Network]:
    """Return the ranges of control planes and load balancers, one in each zone: they end before workers."""
    return [IPv4Network((int(each.cidr.network_address), 33 - WORKER_OFFSET.bit_length())) for each in plan.machines]


def balancer_addresses(plan: NetworkPlan, cloud: Cloud) -> list[IPv4Address]:
    """Return the fixed addresses of the API's internal load balancer: one in each zone, or one for the region."""
    addresses = [subnet.cidr[BALANCER_OFFSET] for subnet in plan.machines]
    return addresses if cloud.facts.edge_subnets else addresses[:1]


def endpoint_address(plan: NetworkPlan, index: int) -> IPv4Address | None:
    """Return the fixed address of a private endpoint in an existing network; None in a subnet of its own."""
    return None if plan.endpoints else plan.machines[0].cidr[ENDPOINT_OFFSET + index]


def pod_range(network: Network, address: IPv4Address) -> IPv4Network:
    """Return a node's pod range where the cloud routes pods: the /24 at the node address's position in the node range.

    So it depends only on the machine's address. Raises IndexError if the pod range is too small.
    """
    place = int(address) - int(network.nodes.network_address)
    first = int(network.pods.network_address) + (place << (network.pods.max_prefixlen - NODE_PODS))
    if first > int(network.pods.broadcast_address):
        raise IndexError(f"{network.pods} has no /{NODE_PODS} for {address} of {network.nodes}")
    return IPv4Network((first, NODE_PODS))
