"""Subnets, routes and fixed addresses: pure arithmetic over the node range.

The node range is cut in four. The first quarter holds the edge subnets (NAT gateways, public
load balancers), each other quarter is one zone's machines. So a change of the number of
pools, machines or edge subnets moves no address.

A worker's address depends on its pool's name and its index alone: each pool starts at a slot
(a block of addresses, the same in every zone) that comes from its name, or from `slot` in the
spec. Hence the order of pools means nothing, and scaling one pool never moves another. Two
pools can meet; then planning names both and a free slot.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from components.spec.models import ApiAccess, Cloud, Egress, NatGateways, Network, Pool

LARGEST_PREFIX, SMALLEST_PREFIX = 16, 22
"""Length of the node range's prefix: AWS takes at most a /16 for a VPC; below a /22 an edge
subnet (a sixteenth) would be under the /27 that load balancers want, with room for both."""

CONTROL_PLANE_OFFSET = 10
"""First control-plane address of a zone; clouds keep the first four addresses of a subnet and the last."""

BALANCER_OFFSET = 5
"""Address of the API's internal load balancer in each zone: one that it chose itself could be a machine's."""

WORKER_OFFSET, TAIL = 64, 16
"""Workers use a zone's subnet from here to TAIL addresses before its end."""

SLOTS = 512
"""At least so many slots where the range allows: two of five pools meet in under 2 % of clusters."""

ANYWHERE = IPv4Network("0.0.0.0/0")

NODE_PODS = 24
"""IPP-02: length of the prefix of a node's pod range."""

POD_START = 3
"""IPP-04: place of the first address in it that pods may have: before it are the gateway and the host's endpoint."""


@dataclass(frozen=True)
class Subnet:
    """One subnet of one zone. `public`: its machines and gateways have public addresses."""

    name: str
    zone: int
    cidr: IPv4Network
    public: bool


@dataclass(frozen=True)
class Route:
    """Where a table sends a range: `internet` or the name of a NAT gateway."""

    destination: IPv4Network
    target: str


@dataclass(frozen=True)
class RouteTable:
    """Routes shared by subnets, besides the network's own range, which every table reaches."""

    name: str
    subnets: tuple[str, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class NatGateway:
    """A NAT gateway and the edge subnet it stands in; `subnet` is empty where the cloud's gateways stand in none."""

    name: str
    subnet: str


INTERNET = "internet"


@dataclass(frozen=True)
class NetworkPlan:
    """The cloud network of one cluster."""

    cidr: IPv4Network
    zones: int
    zone_names: tuple[str, ...]
    """Names of the zones, or empty: the region's first ones, looked up once."""
    subnets: tuple[Subnet, ...]
    tables: tuple[RouteTable, ...]
    gateways: tuple[NatGateway, ...]

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


def network_plan(network: Network, access: ApiAccess, cloud: Cloud) -> NetworkPlan:
    """Subnets, tables and gateways. The range must be a /16 to /22 (a check sees to it)."""
    quarters = list(network.nodes.subnets(prefixlen_diff=2))
    edges = list(quarters[0].subnets(prefixlen_diff=2))
    public = network.egress is Egress.PUBLIC
    zones = range(network.zones)
    machines = [Subnet(f"machines-{zone}", zone, quarters[zone + 1], public) for zone in zones]
    with_edge = cloud.facts.edge_subnets and (not public or access is ApiAccess.PUBLIC)
    edge = [Subnet(f"edge-{zone}", zone, edges[zone], True) for zone in zones] if with_edge else []
    to_internet = Route(ANYWHERE, INTERNET)
    tables = [RouteTable("edge", tuple(each.name for each in edge), (to_internet,))] if edge else []
    gateways: list[NatGateway] = []
    if public:
        tables.append(RouteTable("machines", tuple(each.name for each in machines), (to_internet,)))
    else:
        zonal = network.nat_gateways is NatGateways.ZONAL
        places = [each.name for each in edge] or [""] * network.zones
        gateways = [NatGateway(f"nat-{zone}", place) for zone, place in enumerate(places if zonal else places[:1])]
        for each in machines:
            gateway = gateways[each.zone if zonal else 0].name
            tables.append(RouteTable(each.name, (each.name,), (Route(ANYWHERE, gateway),)))
    return NetworkPlan(
        network.nodes, network.zones, tuple(network.zone_names), (*edge, *machines), tuple(tables), tuple(gateways)
    )


def control_plane_address(plan: NetworkPlan, index: int) -> IPv4Address:
    """Fixed address of a control-plane machine."""
    return plan.machines[index % plan.zones].cidr[CONTROL_PLANE_OFFSET + index // plan.zones]


def balancer_addresses(plan: NetworkPlan, cloud: Cloud) -> list[IPv4Address]:
    """Fixed addresses of the API's internal load balancer: by zone, or the region's one."""
    addresses = [subnet.cidr[BALANCER_OFFSET] for subnet in plan.machines]
    return addresses if cloud.facts.edge_subnets else addresses[:1]


def pod_range(network: Network, address: IPv4Address) -> IPv4Network:
    """A node's pods where the cloud routes them: the /24 at the place in the pod range that its address has in the node
    range, so that nothing but the machine's own address decides it. IndexError when the pod range is too small.
    """
    place = int(address) - int(network.nodes.network_address)
    first = int(network.pods.network_address) + (place << (network.pods.max_prefixlen - NODE_PODS))
    if first > int(network.pods.broadcast_address):
        raise IndexError(f"{network.pods} has no /{NODE_PODS} for {address} of {network.nodes}")
    return IPv4Network((first, NODE_PODS))


@dataclass(frozen=True)
class Slots:
    """How a zone's worker addresses are cut in slots."""

    count: int
    size: int

    @classmethod
    def of(cls, subnet: IPv4Network) -> "Slots":
        """Slot size is a power of two, so large that there are at least SLOTS where the range allows."""
        area = subnet.num_addresses - WORKER_OFFSET - TAIL
        size = 1 << max(0, (area // SLOTS).bit_length() - 1)
        return cls(area // size, size)

    def start(self, name: str, chosen: int | None) -> int:
        """First slot of a pool."""
        if chosen is not None:
            return chosen % self.count
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % self.count

    def taken(self, start: int, machines: int) -> frozenset[int]:
        """Slots that this many machines of one zone use."""
        return frozenset((start + i) % self.count for i in range(-(-machines // self.size)))


def worker_addresses(plan: NetworkPlan, name: str, pool: Pool) -> list[IPv4Address]:
    """Fixed addresses of a pool's machines, by index; zones take turns."""
    slots = Slots.of(plan.machines[0].cidr)
    first = slots.start(name, pool.slot) * slots.size
    area = slots.count * slots.size
    firsts = [int(each.cidr.network_address) + WORKER_OFFSET for each in plan.machines]
    zones = plan.zones
    return [IPv4Address(firsts[i % zones] + (first + i // zones) % area) for i in range(pool.count)]


@dataclass(frozen=True)
class Meeting:
    """Two pools whose addresses meet, and a slot where the second one would be free."""

    first: str
    second: str
    free: int | None


def capacity(plan: NetworkPlan) -> int:
    """How many workers a cluster can have in this network."""
    slots = Slots.of(plan.machines[0].cidr)
    return slots.count * slots.size * plan.zones


def meetings(plan: NetworkPlan, pools: Mapping[str, Pool]) -> Iterable[Meeting]:
    """Pools that would share addresses, each pair once, smaller pool second."""
    slots = Slots.of(plan.machines[0].cidr)
    need = {name: -(-pool.count // plan.zones) for name, pool in pools.items()}
    taken = {name: slots.taken(slots.start(name, pools[name].slot), need[name]) for name in pools}
    order = sorted(pools, key=lambda name: (-need[name], name))
    for first, second in combinations(order, 2):
        if taken[first] & taken[second]:
            others = {slot for name in pools if name != second for slot in taken[name]}
            free = (s for s in range(slots.count) if not slots.taken(s, need[second]) & others)
            yield Meeting(first, second, next(free, None))
