"""The control plane's machines and those of a pool: in which order they are made and replaced, in every cloud."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.plan import Machine, MachineGroup
from components.rollout import simulation
from components.rollout.gates import Machines, Rollout
from components.rollout.provider_calls import ControlPlaneRecords, Store
from components.rollout.upgrade import Upgrade
from components.sdk.registration import urn_dependency
from components.topology.firewall import SecurityGroup
from components.wiring.context import ClusterContext
from components.wiring.launch_data import LaunchData, group_tags

Made = TypeVar("Made", bound=pulumi.Resource)


@dataclass(frozen=True)
class MachineRequest:
    """A machine to be registered."""

    parent: pulumi.Resource
    """The component it belongs to."""
    group: MachineGroup
    machine: Machine
    name: str
    """Its logical one."""
    user_data: Output[str]
    tags: Mapping[str, Input[str]]
    """Those of its group."""
    options: ResourceOptions


def itself(made: pulumi.Resource) -> pulumi.Resource:
    """A machine that is one resource."""
    return made


@dataclass(frozen=True)
class CloudMachines(Generic[Made]):
    """How a cloud has machines."""

    cloud: str
    make: Callable[[MachineRequest], Made]
    """Registers a machine."""
    launch: LaunchData
    instance_id: Callable[[Made], Output[str]]
    """What a machine calls itself in its status record."""
    first: Sequence[pulumi.Resource]
    """What must exist before any machine."""
    ignored: Sequence[str]
    """Inputs whose change is for machines made from now on; a replacement takes it all the same."""
    lasting: Sequence[str]
    """Further inputs whose change leaves a control plane alone."""
    complete: Callable[[Made], pulumi.Resource] = itself
    """What of a machine is made last: the one after it waits for that."""

    def maker(
        self, parent: pulumi.Resource, cluster: str, group: MachineGroup, made: Output[MachineGroup]
    ) -> Callable[[Machine, ResourceOptions], Made]:
        """What registers the machines of a group. made: the group as it is in this run (rollout/upgrade.py)."""
        user_data, tags = self.launch.user_data(group, made), group_tags(group, made)

        def make(machine: Machine, options: ResourceOptions) -> Made:
            name = f"{cluster}-{machine.name}"
            return self.make(MachineRequest(parent, group, machine, name, user_data(machine), tags, options))

        return make


class ControlPlane(pulumi.ComponentResource, Generic[Made]):
    """One or three machines, each after the one before it, and never replaced or stopped by a change of the stack.

    Changes reach them through the desired-state pointer.
    """

    made: list[Made]
    """Their resources, by index."""
    instance_ids: list[Output[str]]
    """Ids of the instances, by index."""

    def __init__(
        self,
        name: str,
        group: MachineGroup,
        cloud_machines: CloudMachines[Made],
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__(f"mullion:{cloud_machines.cloud}:ControlPlane", name, {"count": len(group.machines)}, opts)
        make, self.made = cloud_machines.maker(self, name, group, Output.from_input(group)), []
        for machine in group.machines:
            options = ResourceOptions(
                parent=self,
                depends_on=[self.made[-1]] if self.made else cloud_machines.first,
                protect=protect,
                delete_before_replace=True,  # its address is fixed
                ignore_changes=[*cloud_machines.ignored, *cloud_machines.lasting],
            )
            self.made.append(make(machine, options))
        self.instance_ids = [cloud_machines.instance_id(each) for each in self.made]
        self.register_outputs({"instance_ids": self.instance_ids})


class Workers(pulumi.ComponentResource, Generic[Made]):
    """One pool, whose machines are replaced in waves when what they must become changes.

    Each waits for the one `max_unavailable` before it, and goes before its successor comes: so
    at most that many are missing at once, under plain `pulumi up` too. The rollout's hooks stop
    where the pool cannot spare one, and drain those that go.
    """

    made: list[Made]
    """Their resources, by index."""
    instance_ids: list[Output[str]]
    """Ids of the instances, by index."""

    def __init__(
        self,
        name: str,
        group: MachineGroup,
        cloud_machines: CloudMachines[Made],
        rollout: Rollout,
        upgrade: Upgrade,
        opts: ResourceOptions | None = None,
    ) -> None:
        full, inputs = f"{name}-{group.name}", {"count": len(group.machines)}
        super().__init__(f"mullion:{cloud_machines.cloud}:Workers", full, inputs, opts)
        made_as = upgrade.pool(group)
        make, self.made = cloud_machines.maker(self, name, group, made_as), []
        common: dict[str, Any] = {
            "parent": self,
            "delete_before_replace": True,  # its address is fixed
            "ignore_changes": list(cloud_machines.ignored),
            "replacement_trigger": made_as.apply(lambda each: each.replace_digest),
            "hooks": rollout.hooks,
        }
        for machine in group.machines:
            wave = machine.index - group.max_unavailable
            before = cloud_machines.first if wave < 0 else [urn_dependency(cloud_machines.complete(self.made[wave]))]
            instance = make(machine, ResourceOptions(depends_on=before, **common))
            rollout.watch(f"{name}-{machine.name}", instance)
            self.made.append(instance)
        self.instance_ids = [cloud_machines.instance_id(each) for each in self.made]
        self.register_outputs({"instance_ids": self.instance_ids, "kubernetes": upgrade.version})


class Records(Machines, Store, Protocol):
    """What a cloud and its bundle store know of machines."""


def machines(
    context: ClusterContext,
    cloud_machines: CloudMachines[Made],
    records: Callable[[SecurityGroup], Records],
    public_host: Output[str],
    opts: ResourceOptions,
) -> dict[Machine, Made]:
    """Register all machines of a cluster. records: of the machines of a group. public_host: of the API."""
    plan, upgrade, simulated = context.plan, context.upgrade, simulation.is_simulated(context.target)
    rollout = Rollout(plan, records(SecurityGroup.WORKERS), context.access(public_host), simulated=simulated)
    control_plane = ControlPlane(plan.name, plan.control_plane, cloud_machines, protect=plan.spec.protect, opts=opts)
    upgrade.source = ControlPlaneRecords(records(SecurityGroup.CONTROL_PLANE), control_plane.instance_ids)
    pools = [Workers(plan.name, pool, cloud_machines, rollout, upgrade, opts=opts) for pool in plan.pools]
    made = [*control_plane.made, *(each for pool in pools for each in pool.made)]
    return dict(zip(plan.machines, made, strict=True))
