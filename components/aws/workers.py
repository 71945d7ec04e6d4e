"""A pool's machines, replaced in waves when what they must become changes."""

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.after import after
from components.aws.machines import IGNORED, Site, instance_arguments
from components.plan import MachineGroup
from components.rollout import Rollout
from components.tags import Tags
from components.upgrade import Upgrade


class Workers(pulumi.ComponentResource):
    """One pool, whose machines are chained.

    Each waits for the one `max_unavailable` before it, and goes before its successor comes: so
    at most that many are missing at once, under plain `pulumi up` too. The rollout's hooks stop
    where the pool cannot spare one, and drain those that go.
    """

    instance_ids: list[Output[str]]
    """Ids of the instances, by index."""
    interface_ids: list[Output[str]]
    """Ids of their network interfaces, by index."""

    def __init__(
        self,
        name: str,
        group: MachineGroup,
        site: Site,
        tags: Tags,
        rollout: Rollout,
        upgrade: Upgrade,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:aws:Workers", f"{name}-{group.name}", {"count": len(group.machines)}, opts)
        made_as = upgrade.pool(group)
        trigger = made_as.apply(lambda each: each.replace_digest)
        arguments = instance_arguments(self, group, made_as, site, tags)
        made: list[aws.ec2.Instance] = []
        for machine in group.machines:
            full, wave = f"{name}-{machine.name}", machine.index - group.max_unavailable
            before = site.routes if wave < 0 else [after(made[wave])]
            instance = aws.ec2.Instance(
                full,
                opts=ResourceOptions(
                    parent=self,
                    depends_on=before,
                    delete_before_replace=True,  # its address is fixed
                    ignore_changes=IGNORED,
                    replacement_trigger=trigger,
                    hooks=rollout.hooks,
                ),
                **arguments.of(machine, full),
            )
            rollout.watch(full, instance)
            made.append(instance)
        self.instance_ids = [each.id for each in made]
        self.interface_ids = [each.primary_network_interface_id for each in made]
        self.register_outputs({"instance_ids": self.instance_ids, "kubernetes": upgrade.version})
