"""Control plane and pools: the order in which their machines are created and replaced, in every cloud."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import pulumi
from pulumi import Input, Output, ResourceHookBinding, ResourceOptions

from components.plan import ClusterPlan, Machine, MachineGroup
from components.rollout import gates, simulation, workers
from components.rollout.api_tunnel import ApiTunnel, uses_tunnel
from components.rollout.provider_calls import ControlPlaneRecords, Store
from components.rollout.session_commands import MachinePlace
from components.rollout.upgrade import Upgrade
from components.sdk.registration import urn_dependency
from components.spec.quantities import waits_for
from components.wiring.context import ClusterContext
from components.wiring.joined_cluster import JoinedCluster
from components.wiring.launch_data import LaunchData, group_tags

Made = TypeVar("Made", bound=pulumi.Resource)
"""The cloud's resource class of a machine."""


@dataclass(frozen=True)
class MachineRequest:
    """A machine to register."""

    parent: pulumi.Resource
    """The component it belongs to."""
    group: MachineGroup
    machine: Machine
    name: str
    """Logical name of the machine's resource."""
    user_data: Output[str]
    tags: Mapping[str, Input[str]]
    """Tags of the group."""
    options: ResourceOptions


def itself(machine: pulumi.Resource) -> pulumi.Resource:
    """Return the machine itself, for clouds where a machine is one resource."""
    return machine


@dataclass(frozen=True)
class CloudMachines(Generic[Made]):
    """How to register machines in one cloud."""

    cloud: str
    make: Callable[[MachineRequest], Made]
    """Register a machine."""
    launch: LaunchData
    instance_id: Callable[[Made], Output[str]]
    """Return the id that a machine writes into its status record."""
    first: Sequence[pulumi.Resource]
    """Resources that must exist before any machine."""
    ignored: Sequence[str]
    """Inputs whose change does not replace a machine (`ignore_changes`); a replacement applies it."""
    lasting: Sequence[str]
    """Further inputs to ignore for control planes."""
    complete: Callable[[Made], pulumi.Resource] = itself
    """Return the machine's last resource, on which the next machine depends."""

    def maker(
        self, parent: pulumi.Resource, cluster: str, group: MachineGroup, current: Output[MachineGroup]
    ) -> Callable[[Machine, ResourceOptions], Made]:
        """Return a function that registers a machine of the group. current: the group at its version in this run."""
        user_data, tags = self.launch.user_data(group, current), group_tags(group, current)

        def make(machine: Machine, options: ResourceOptions) -> Made:
            name = f"{cluster}-{machine.name}"
            return self.make(MachineRequest(parent, group, machine, name, user_data(machine), tags, options))

        return make


class Machines(pulumi.ComponentResource, Generic[Made]):
    """The machines of one group."""

    made: list[Made]
    """Resources of the machines, by index."""
    instance_ids: list[Output[str]]
    """Ids of the instances, by index."""

    def __init__(
        self, name: str, group: MachineGroup, cloud_machines: CloudMachines[Made], opts: ResourceOptions | None
    ) -> None:
        kind = f"mullion:{cloud_machines.cloud}:{type(self).__name__}"
        super().__init__(kind, name, {"count": len(group.machines)}, opts)
        self.made, self._cloud_machines = [], cloud_machines

    def _finish(self, **outputs: Input[str]) -> None:
        """Register the outputs, once every machine is registered."""
        self.instance_ids = [self._cloud_machines.instance_id(machine) for machine in self.made]
        self.register_outputs({"instance_ids": self.instance_ids, **outputs})


class ControlPlane(Machines[Made]):
    """One or three machines, created one after the other. No change of the stack file replaces or stops them.

    They follow the desired-state pointer instead.
    """

    def __init__(
        self,
        name: str,
        group: MachineGroup,
        cloud_machines: CloudMachines[Made],
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, group, cloud_machines, opts)
        make = cloud_machines.maker(self, name, group, Output.from_input(group))
        for machine in group.machines:
            options = ResourceOptions(
                parent=self,
                depends_on=[self.made[-1]] if self.made else cloud_machines.first,
                protect=protect,
                delete_before_replace=True,  # its address is fixed
                ignore_changes=[*cloud_machines.ignored, *cloud_machines.lasting],
            )
            self.made.append(make(machine, options))
        self._finish()


class Workers(Machines[Made]):
    """One pool. Its machines are replaced in waves when the replace digest changes.

    A machine depends on the one `max_unavailable` places before it (with a canary at least on the first), and is
    deleted before its successor is created. So at most that many are missing at once, under plain `pulumi up` too. The
    rollout's hooks stop the run if too few others are ready, and drain a machine before its deletion.
    """

    def __init__(
        self,
        name: str,
        group: MachineGroup,
        cloud_machines: CloudMachines[Made],
        rollout: gates.Rollout,
        upgrade: Upgrade,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__(f"{name}-{group.name}", group, cloud_machines, opts)
        current = upgrade.pool(group)
        make = cloud_machines.maker(self, name, group, current)
        common: dict[str, Any] = {
            "parent": self,
            "delete_before_replace": True,  # its address is fixed
            "ignore_changes": list(cloud_machines.ignored),
            "replacement_trigger": current.apply(lambda pool: pool.replace_digest),
            "hooks": rollout.hooks,
        }
        for machine in group.machines:
            last = waits_for(machine.index, group.max_unavailable, canary=group.canary)
            complete = None if last is None else urn_dependency(cloud_machines.complete(self.made[last]))
            before = cloud_machines.first if complete is None else [complete]
            instance = make(machine, ResourceOptions(depends_on=before, **common))
            rollout.watch(f"{name}-{machine.name}", instance)
            self.made.append(instance)
        self._finish(kubernetes=upgrade.version)


class Records(workers.Machines, Store, Protocol):
    """State of machines from the cloud, and their records from its bundle store."""

    async def known(self) -> bool:
        """Wait for what is needed to call the cloud; return whether it exists: false in a new cluster's preview."""
        ...

    async def place(self, plan: ClusterPlan, machine: Machine) -> MachinePlace | None:
        """Return where the cloud's session command finds a planned machine; None if it does not run."""
        ...


@dataclass(frozen=True)
class Registered(Generic[Made]):
    """The machines of a cluster."""

    instances: dict[Machine, Made]
    membership_hooks: ResourceHookBinding
    """Of every membership of a worker in the targets of a load balancer."""


def machines(
    context: ClusterContext,
    cloud_machines: CloudMachines[Made],
    records: Records,
    public_host: Output[str],
    opts: ResourceOptions,
) -> Registered[Made]:
    """Register all machines of a cluster. public_host: of the API, or empty."""
    plan, upgrade, simulated = context.plan, context.upgrade, simulation.is_simulated(context.target)
    by_tunnel = uses_tunnel(plan.spec) and not simulated
    tunnel = ApiTunnel(plan, partial(records.place, plan), simulation.sessions()) if by_tunnel else None
    access = context.access(public_host)
    rollout = gates.Rollout(plan, records, access, simulated=simulated, tunnel=tunnel)
    rollout.version, context.pod_routes.release = upgrade.version, rollout.release
    resources: list[Made] = []
    if isinstance(context.secrets, JoinedCluster):
        context.secrets.open(records)
        rollout.hooks.before_create = [context.secrets.hook]
    else:
        group, key = plan.control_plane, context.generated.desired_state_key
        control_plane = ControlPlane(plan.name, group, cloud_machines, protect=plan.spec.protect, opts=opts)
        context.generated.gate.open(records)
        upgrade.source = ControlPlaneRecords(records, control_plane.instance_ids, key)
        resources += control_plane.made
    pools = [Workers(plan.name, pool, cloud_machines, rollout, upgrade, opts=opts) for pool in plan.pools]
    resources += [machine for pool in pools for machine in pool.made]
    return Registered(dict(zip(plan.machines, resources, strict=True)), rollout.traffic.hooks)
