"""ClusterPlan: everything Mullion decides, before and without any cloud.

The wiring of each cloud turns it into resources and decides nothing; `mullion plan` prints it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from components import naming
from components.machine import facts
from components.machine import user_data as userdata
from components.machine.bundle import Bundle, OsFamily, bundle, scripts
from components.node import plan_node
from components.node.plan import NodePlan, canonical
from components.spec.models import ApiAccess, Cloud, ClusterSpec, Egress, NetworkMode, OperatingSystem
from components.spec.report import Problem, Severity, SpecError
from components.topology.addressing import (
    POD_START,
    NetworkPlan,
    balancer_addresses,
    capacity,
    control_plane_address,
    meetings,
    network_plan,
    pod_range,
    worker_addresses,
)
from components.topology.firewall import API_PORT, Rule, SecurityGroup, groups, load_balanced, rules
from components.topology.reachability import Path, paths

SPARE_BYTES = 1024
"""User-data is refused this much before the cloud's limit, so that a longer fact never breaks a roll."""


@dataclass(frozen=True)
class Endpoint:
    """How nodes and people reach the Kubernetes API."""

    zone: str
    host: str
    balanced: bool
    """Nodes go through an internal load balancer; else the name points at the only machine."""
    public: bool
    balancer_addresses: tuple[IPv4Address, ...]
    """Of the internal load balancer, by zone; empty where there is none."""
    port: int = API_PORT

    @property
    def has_balancers(self) -> bool:
        """Whether there is any load balancer: for nodes, for people, or both."""
        return self.balanced or self.public

    @property
    def url(self) -> str:
        """For nodes, and in the certificate."""
        return f"https://{self.host}:{self.port}"

    def for_people(self, public_host: str) -> str:
        """For people: through the public load balancer, where there is one."""
        return f"https://{public_host}:{self.port}" if public_host else self.url


@dataclass(frozen=True)
class Machine:
    """One machine: name of the node, host and resource; index in its group; zone; fixed address."""

    name: str
    index: int
    zone: int
    address: IPv4Address
    pods: IPv4Network | None = None
    """Its pod range where the cloud routes pods (l2bridge); in overlay the controller manager gives one out."""


@dataclass(frozen=True)
class MachineGroup:
    """The control plane, or a pool: machines that are alike."""

    name: str
    cloud: Cloud
    group: SecurityGroup
    os: OperatingSystem
    size: str
    disk_gb: int
    image: str | None
    """Pinned image id; None: looked up once, then kept."""
    max_unavailable: int
    node_plan: NodePlan
    bundle: Bundle
    machines: tuple[Machine, ...]

    @property
    def is_control_plane(self) -> bool:
        """Whether these machines run the control plane."""
        return self.group is SecurityGroup.CONTROL_PLANE

    @property
    def family(self) -> OsFamily:
        """Linux or Windows."""
        return "windows" if self.os.is_windows else "linux"

    @cached_property
    def replace_digest(self) -> str:
        """What a change of replaces workers: their node plan's replacing part, image, size and disk."""
        parts = [self.node_plan.replace_digest, self.image, self.size, self.disk_gb]
        return hashlib.sha256(canonical(parts)).hexdigest()

    def machine_document(self, machine: Machine) -> dict[str, str]:
        """The machine layer of the user-data."""
        zone, pods = str(machine.zone), dict[str, str]()
        if machine.pods is not None:
            pods = {"pod_cidr": str(machine.pods), "pod_start": str(machine.pods[POD_START])}
        return {"name": machine.name, "address": str(machine.address), "pool": self.name, "zone": zone, **pods}

    @cached_property
    def longest_user_data(self) -> int:
        """Bytes of the user-data, with every fact as long as it can get."""
        known = facts.longest(control_plane=self.is_control_plane)
        longest = max(self.machines, key=lambda each: sum(map(len, self.machine_document(each).values())), default=None)
        if longest is None:
            return 0
        url = "x" * facts.LONGEST_BUNDLE_URL
        document = userdata.document(url, self.bundle.sha256, self.machine_document(longest), known)
        return len(self.user_data(document).encode())

    def user_data(self, document: Mapping[str, Any]) -> str:
        """The user-data of a machine that is told this document (components/machine/user_data.py)."""
        return userdata.user_data(self.family, document, self.cloud.value)


@dataclass(frozen=True)
class ClusterPlan:
    """One cluster, whole."""

    name: str
    spec: ClusterSpec
    network: NetworkPlan
    endpoint: Endpoint
    groups: tuple[SecurityGroup, ...]
    rules: tuple[Rule, ...]
    control_plane: MachineGroup
    pools: tuple[MachineGroup, ...]
    """By name, whatever the order in the spec."""

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The control plane, then the pools."""
        return (self.control_plane, *self.pools)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """All machines."""
        return tuple(machine for group in self.machine_groups for machine in group.machines)

    @property
    def has_public_machines(self) -> bool:
        """Whether machines have public addresses."""
        return self.spec.network.egress is Egress.PUBLIC

    @property
    def workers(self) -> tuple[Machine, ...]:
        """The machines of all pools."""
        return self.machines[len(self.control_plane.machines) :]

    @property
    def api_addresses(self) -> tuple[IPv4Address, ...]:
        """Fixed addresses at which nodes reach the API: of its load balancer, or of the only machine."""
        return self.endpoint.balancer_addresses or tuple(each.address for each in self.control_plane.machines)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every way that must exist, found or missing."""
        used: dict[SecurityGroup, dict[int, None]] = {}
        for group in self.machine_groups:
            used.setdefault(group.group, {}).update(dict.fromkeys(each.zone for each in group.machines))
        places = {
            group: [self.network.machines[zone] for zone in sorted(zones)] for group, zones in used.items() if zones
        }
        return tuple(paths(self.network, self.rules, self.groups, places, self.spec.network))

    @cached_property
    def operating_systems(self) -> tuple[OperatingSystem, ...]:
        """Operating systems whose image must be looked up, by name; a pool without machines keeps its image."""
        wanted = {group.os for group in self.machine_groups if group.image is None}
        return tuple(sorted(wanted, key=lambda each: each.value))


def plan_cluster(name: str, spec: ClusterSpec) -> ClusterPlan:
    """The plan of a cluster whose spec passed its checks.

    Raises SpecError with every problem that only planning shows: addresses that meet,
    user-data over the cloud's limit, a missing way.
    """
    network = network_plan(spec.network, spec.api.access, spec.cloud)
    if problems := list(_address_problems(network, spec)):
        raise SpecError(name, problems)
    balanced = load_balanced(spec)
    endpoint = Endpoint(
        naming.zone_name(name),
        naming.api_host(name),
        balanced,
        spec.api.access is ApiAccess.PUBLIC,
        tuple(balancer_addresses(network, spec.cloud) if balanced else ()),
    )
    plan = ClusterPlan(
        name=name,
        spec=spec,
        network=network,
        endpoint=endpoint,
        groups=groups(spec),
        rules=rules(spec),
        control_plane=_control_plane(name, spec, network),
        pools=tuple(_pool(name, spec, network, pool) for pool in sorted(spec.pools)),
    )
    if problems := [*_size_problems(plan), *_path_problems(plan)]:
        raise SpecError(name, problems)
    return plan


def pool_at(plan: ClusterPlan, pool: MachineGroup, kubernetes: str) -> MachineGroup:
    """A pool of the plan, as it is when the spec has another version of Kubernetes."""
    if kubernetes == plan.spec.kubernetes:
        return pool
    return _pool(plan.name, plan.spec.model_copy(update={"kubernetes": kubernetes}), plan.network, pool.name)


def _control_plane(name: str, spec: ClusterSpec, network: NetworkPlan) -> MachineGroup:
    addresses = [control_plane_address(network, index) for index in range(spec.control_plane.count)]
    return _group(
        naming.CONTROL_PLANE,
        SecurityGroup.CONTROL_PLANE,
        spec,
        spec.control_plane.os,
        spec.control_plane.size,
        spec.control_plane.disk_gb,
        1,
        plan_node(name, spec, None),
        addresses,
    )


def _pool(name: str, spec: ClusterSpec, network: NetworkPlan, pool: str) -> MachineGroup:
    each = spec.pools[pool]
    addresses = worker_addresses(network, pool, each)
    unavailable = each.rollout.max_unavailable
    node_plan = plan_node(name, spec, pool)
    return _group(
        pool, SecurityGroup.WORKERS, spec, each.os, each.size, each.disk_gb, unavailable, node_plan, addresses
    )


def _group(
    name: str,
    group: SecurityGroup,
    spec: ClusterSpec,
    os: OperatingSystem,
    size: str,
    disk_gb: int,
    max_unavailable: int,
    node_plan: NodePlan,
    addresses: list[IPv4Address],
) -> MachineGroup:
    zones = spec.network.zones
    routed = spec.network.mode is NetworkMode.L2BRIDGE
    machines = tuple(
        Machine(
            naming.machine_name(name, index),
            index,
            index % zones,
            address,
            pod_range(spec.network, address) if routed else None,
        )
        for index, address in enumerate(addresses)
    )
    control_plane = group is SecurityGroup.CONTROL_PLANE
    packed = bundle(node_plan, scripts("windows" if os.is_windows else "linux", control_plane=control_plane))
    return MachineGroup(
        name, spec.cloud, group, os, size, disk_gb, spec.images.get(os), max_unavailable, node_plan, packed, machines
    )


def _address_problems(network: NetworkPlan, spec: ClusterSpec) -> Iterator[Problem]:
    room, wanted = capacity(network), sum(pool.count for pool in spec.pools.values())
    largest = max((-(-pool.count // network.zones) for pool in spec.pools.values()), default=0)
    if max(wanted, largest * network.zones) > room:
        yield _error(
            "node-range-full",
            "network.nodes",
            f"{wanted} workers do not fit: {network.cidr} has addresses for {room} in {network.zones} zones",
            "a larger network.nodes (up to a /16), or fewer machines",
        )
        return
    for each in meetings(network, spec.pools):
        free = f"slot: {each.free}" if each.free is not None else "a larger network.nodes"
        yield _error(
            "pool-addresses-meet",
            f"pools.{each.second}.slot",
            f"pools {each.first} and {each.second} would use the same node addresses",
            f"{free} for pool {each.second}; if its machines exist, they are replaced at new addresses",
        )


def _size_problems(plan: ClusterPlan) -> Iterator[Problem]:
    limit = userdata.LIMITS[plan.spec.cloud.value] - SPARE_BYTES
    for group in plan.machine_groups:
        if group.longest_user_data > limit:
            yield _error(
                "user-data-too-large",
                "control_plane" if group.is_control_plane else f"pools.{group.name}",
                f"user-data can reach {group.longest_user_data} bytes; at most {limit} leave room to grow",
                "a shorter cluster or pool name",
            )


def _path_problems(plan: ClusterPlan) -> Iterable[Problem]:
    return (
        _error(
            "no-way", "network", f"{each.source} cannot reach {each.destination}: {each.missing}", "report this: a bug"
        )
        for each in plan.paths
        if each.missing
    )


def _error(check: str, path: str, wrong: str, fix: str) -> Problem:
    return Problem(check, path, Severity.ERROR, wrong, fix)
