"""The data of a cluster plan: endpoint, machines, machine groups."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from components.catalogue.etcd_disks import Disk
from components.machine import facts
from components.machine import user_data as userdata
from components.machine.bundle import Bundle, OsFamily
from components.naming import Share
from components.node.plan import NodePlan, canonical
from components.spec.models import Cloud, ClusterSpec, Egress, MachineAccess, OperatingSystem
from components.topology.addressing import POD_START, NetworkPlan
from components.topology.firewall import API_PORT, Group, Rule, SecurityGroup
from components.topology.load_balancers import LoadBalancer
from components.topology.private_endpoints import PrivateEndpoint, built_endpoints
from components.topology.reachability import Path, ingress_paths, paths


@dataclass(frozen=True)
class Endpoint:
    """How nodes and people reach the Kubernetes API."""

    zone: str
    """Private DNS zone."""
    host: str
    balanced: bool
    """Whether nodes use an internal load balancer; else the name resolves to the only control-plane machine."""
    public: bool
    """Whether people use a public load balancer."""
    balancer_addresses: tuple[IPv4Address, ...]
    """Addresses of the internal load balancer, by zone; empty if there is none."""
    port: int = API_PORT

    @property
    def has_balancers(self) -> bool:
        """Whether there is a load balancer, internal or public."""
        return self.balanced or self.public

    @property
    def url(self) -> str:
        """URL for nodes; its host is in the API server's certificate."""
        return f"https://{self.host}:{self.port}"

    def for_people(self, public_host: str) -> str:
        """Return the URL for people: of the public load balancer, or `url` if public_host is empty."""
        return f"https://{public_host}:{self.port}" if public_host else self.url


@dataclass(frozen=True)
class Machine:
    """One machine."""

    name: str
    """Name of its Node, host and resource."""
    index: int
    """Index in its machine group."""
    zone: int
    address: IPv4Address
    """Fixed private address."""
    pods: IPv4Network | None = None
    """Its pod range in l2bridge mode; None in overlay mode, where the controller manager assigns one."""


@dataclass(frozen=True)
class MachineGroup:
    """The control plane, or one pool: machines with the same plan."""

    name: str
    cloud: Cloud
    group: SecurityGroup
    os: OperatingSystem
    size: str
    disk_gb: int
    image: str | None
    """Pinned image id; None: looked up at the first `up`, then kept."""
    max_unavailable: int
    canary: bool
    """Whether the first machine is replaced alone, before the others."""
    node_plan: NodePlan
    bundle: Bundle
    machines: tuple[Machine, ...]
    share: Share
    """Which workers share an identity of the cloud."""
    own_licence: bool = False
    """Whether the licence of Windows is the user's, so that the cloud does not bill one."""
    spot: bool = False
    """Whether the machines use spot capacity, which the cloud may take back."""
    nested_virtualisation: bool = False
    """Whether the launch of a machine must ask for nested virtualisation."""
    etcd_disk: Disk | None = None
    """Disk that etcd has for itself; None: it shares the root disk."""
    joins: bool = False
    """Whether they join a cluster without Mullion's agent; then a change of labels and taints replaces them."""

    @property
    def is_control_plane(self) -> bool:
        """Whether these machines run the control plane."""
        return self.group is SecurityGroup.CONTROL_PLANE

    @property
    def family(self) -> OsFamily:
        """Return linux or windows."""
        return "windows" if self.os.is_windows else "linux"

    @property
    def chose_own_identity(self) -> bool:
        """Whether each worker has an identity of its own by `worker_identity`, in a cloud that has the choice."""
        chosen = self.cloud.facts.identity_of_pool and self.share is Share.NONE
        return chosen and not self.is_control_plane

    def identity_of(self, machine: Machine) -> str:
        """Return the name of the identity of one of its machines."""
        return self.share.identity_of(self.name, machine.name)

    @cached_property
    def replace_digest(self) -> str:
        """sha256 of everything whose change replaces workers.

        Replacing steps of the node plan, image, size, disk; options that a machine has for life, where they are used.
        """
        parts = [self.node_plan.replace_digest, self.image, self.size, self.disk_gb]
        parts += [*(["own licence"] if self.own_licence else []), *(["spot"] if self.spot else [])]
        parts += ["own identity"] if self.chose_own_identity else []
        parts += [self.node_plan.registration] if self.joins else []
        return hashlib.sha256(canonical(parts)).hexdigest()

    def machine_document(self, machine: Machine) -> dict[str, str]:
        """Return the member `machine` of user-data."""
        zone, pods = str(machine.zone), dict[str, str]()
        if machine.pods is not None:
            pods = {"pod_cidr": str(machine.pods), "pod_start": str(machine.pods[POD_START])}
        return {"name": machine.name, "address": str(machine.address), "pool": self.name, "zone": zone, **pods}

    @cached_property
    def longest_user_data(self) -> int:
        """Bytes of the longest user-data in the group, with every fact at its maximum length."""
        documents = map(self.machine_document, self.machines)
        longest = max(documents, key=lambda document: sum(map(len, document.values())), default=None)
        if longest is None:
            return 0
        url, values = "x" * facts.LONGEST_BUNDLE_URL, facts.longest(control_plane=self.is_control_plane)
        return len(self.user_data(userdata.document(url, self.bundle.sha256, longest, values)).encode())

    def user_data(self, document: Mapping[str, Any]) -> str:
        """Return user-data that contains this document (components/machine/user_data.py)."""
        return userdata.user_data(self.family, document, self.cloud.value)


@dataclass(frozen=True)
class ClusterPlan:
    """The plan of one cluster."""

    name: str
    spec: ClusterSpec
    network: NetworkPlan
    endpoint: Endpoint
    groups: tuple[Group, ...]
    rules: tuple[Rule, ...]
    load_balancers: tuple[LoadBalancer, ...]
    """Load balancers of `ingress`, sorted by name."""
    control_plane: MachineGroup
    pools: tuple[MachineGroup, ...]
    """Sorted by name."""

    @property
    def joins(self) -> bool:
        """Whether the pools join a cluster that somebody else made; then the control plane has no machines."""
        return self.spec.existing_cluster is not None

    @property
    def machine_groups(self) -> tuple[MachineGroup, ...]:
        """The control plane, unless it is somebody else's, then the pools."""
        return self.pools if self.joins else (self.control_plane, *self.pools)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """All machines, in the order of the machine groups."""
        return tuple(machine for group in self.machine_groups for machine in group.machines)

    @property
    def builds_bastion(self) -> bool:
        """Whether Mullion builds the host that carries sessions; in the user's network sessions use the user's host."""
        spec = self.spec
        return spec.access is MachineAccess.SESSION and spec.cloud.facts.session_host and not self.network.existing

    @property
    def has_public_machines(self) -> bool:
        """Whether machines have public addresses."""
        return self.spec.network.egress is Egress.PUBLIC

    @property
    def private_endpoints(self) -> tuple[PrivateEndpoint, ...]:
        """Private endpoints that Mullion builds for machines without a way to the internet."""
        return built_endpoints(self.spec)

    @property
    def workers(self) -> tuple[Machine, ...]:
        """The machines of all pools."""
        return self.machines[len(self.control_plane.machines) :]

    def targets(self, balancer: LoadBalancer) -> tuple[Machine, ...]:
        """Return the machines of a load balancer's pools."""
        return tuple(machine for pool in self.pools if pool.name in balancer.pools for machine in pool.machines)

    @property
    def api_addresses(self) -> tuple[IPv4Address, ...]:
        """Addresses that the endpoint's name resolves to: of the internal load balancer, or of the only machine."""
        return self.endpoint.balancer_addresses or tuple(machine.address for machine in self.control_plane.machines)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Network paths that the cluster needs; `missing` of a path says what blocks it."""
        zones: dict[SecurityGroup, dict[int, None]] = {}
        for group in self.machine_groups:
            zones.setdefault(group.group, {}).update(dict.fromkeys(machine.zone for machine in group.machines))
        subnets = {
            group: [self.network.machines[zone] for zone in sorted(used)] for group, used in zones.items() if used
        }
        return (
            *paths(self.network, self.rules, self.groups, subnets, self.spec.network),
            *ingress_paths(self.rules, self.spec, self.load_balancers),
        )

    @cached_property
    def operating_systems(self) -> tuple[OperatingSystem, ...]:
        """Operating systems without a pinned image, sorted; also of pools without machines, to keep their image."""
        unpinned = {group.os for group in self.machine_groups if group.image is None}
        return tuple(sorted(unpinned, key=lambda os: os.value))
