"""The Windows nodes under test: pools of this repository's stacks, with the changes of each row."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from components.node.downloads import wanted
from components.node.plan import NodePlan
from components.node.role import role
from components.plan import Machine, MachineGroup, plan_cluster
from components.spec.models import ClusterSpec, NetworkMode
from components.stack_files.stack import CLUSTER, read_stack
from components.topology.addressing import pod_range
from operations.stacks import stack_files
from tests.windows_plans.publisher import publish

WARNINGS = "the tests need exactly this combination"


@dataclass(frozen=True)
class Combination:
    """A pool of a stack; `cluster` and `pool_options` are merged over the stack file."""

    stack: str
    pool: str
    cluster: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pool_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    build: tuple[int, int] = (17763, 6293)
    """Build and revision (UBR) of the machine."""


@dataclass(frozen=True)
class Rendered:
    """A combination rendered by the product, with its downloads."""

    spec: ClusterSpec
    group: MachineGroup
    files: dict[str, bytes]
    """Files of the mirror, by <host>/<path>."""
    build: tuple[int, int]

    @property
    def plan(self) -> NodePlan:
        """Return the plan of its machines."""
        return self.group.node_plan

    def machine(self, name: str, address: str) -> dict[str, str]:
        """Return the machine part of the user-data for this name and address."""
        network, own = self.spec.network, IPv4Address(address)
        pods = pod_range(network, own) if network.mode is NetworkMode.L2BRIDGE else None
        return self.group.machine_document(Machine(name, 0, 0, own, pods))


SERVER_2022, SERVER_2025 = (20348, 2849), (26100, 32860)
OLDER = {"kubernetes": "1.32.13"}
"""The newest minor that Kubernetes itself tests on Windows Server 2019."""
L2BRIDGE: dict[str, Any] = {"network": {"mode": "l2bridge", "nodes": "10.20.0.0/22", "pods": "10.244.0.0/14"}}

COMBINATIONS: dict[str, Combination] = {
    "containerd-overlay": Combination("aws-dev", "web", OLDER, {"os": "windows-2019"}),
    "docker-overlay": Combination("aws-docker", "legacy"),
    "containerd-l2bridge": Combination("aws-routed", "web", build=SERVER_2022),
    "docker-l2bridge": Combination("aws-docker", "legacy", L2BRIDGE),
    "cri-dockerd": Combination("aws-dev", "web", OLDER, {"os": "windows-2019", "runtime": "docker"}),
    "windows-2022": Combination("aws-ci", "windows", build=SERVER_2022),
    "hyperv": Combination("aws-ci", "windows", {}, {"isolation": "hyperv", "size": "m8i.xlarge"}, build=SERVER_2022),
    "windows-2025": Combination("aws-ci", "windows", {}, {"os": "windows-2025"}, build=SERVER_2025),
}

FOUR = ("containerd-overlay", "docker-overlay", "containerd-l2bridge", "docker-l2bridge")
"""Both runtimes with both networks; the other combinations differ only in rows of tables."""

CUT = "docker-l2bridge"
"""The combination on which `make test` cuts the power; its end state is checked then. `make soak` has the others."""

VETERAN = "containerd-overlay"
"""The combination whose node goes through the events, once its first set-up is checked."""


def rendered(name: str, mirror: str, standins: Path) -> Rendered:
    """Return the plan of a combination that downloads from the mirror, with the digests of stand-ins."""
    chosen = COMBINATIONS[name]
    config = copy.deepcopy(stack_files.config(chosen.stack))
    document = config[CLUSTER]
    document["network"] = {**document.get("network", {}), **chosen.cluster.get("network", {})}
    document |= {key: value for key, value in chosen.cluster.items() if key != "network"}
    document["pools"][chosen.pool] |= chosen.pool_options
    document["acknowledge"] = _all_warnings(chosen.stack, config)
    files, entries = publish(wanted(role(chosen.stack, _spec(chosen.stack, config), chosen.pool)), standins)
    document["artifacts"] = {"mirror": mirror, "entries": entries}
    spec = _spec(chosen.stack, config)
    group = next(each for each in plan_cluster(chosen.stack, spec).pools if each.name == chosen.pool)
    return Rendered(spec, group, files, chosen.build)


def _all_warnings(stack: str, config: dict[str, Any]) -> dict[str, str]:
    """Return all warnings as accepted: versions here are deliberately old."""
    warnings = read_stack(stack, config).warnings
    return {each.id: WARNINGS for each in warnings}


def _spec(stack: str, config: dict[str, Any]) -> ClusterSpec:
    return read_stack(stack, config).spec
