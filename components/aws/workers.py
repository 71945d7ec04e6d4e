"""A pool's machines, replaced in waves when what they must become changes."""

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.after import after
from components.aws.machines import IGNORED, Site, instance_arguments
from components.plan import MachineGroup
from components.tags import Tags


class Workers(pulumi.ComponentResource):
    """One pool, whose machines are chained.

    Each waits for the one `max_unavailable` before it, and goes before its successor comes: so
    at most that many are missing at once, under plain `pulumi up` too.
    """

    instance_ids: list[Output[str]]
    """Ids of the instances, by index."""

    def __init__(
        self, name: str, group: MachineGroup, site: Site, tags: Tags, opts: ResourceOptions | None = None
    ) -> None:
        super().__init__("mullion:aws:Workers", f"{name}-{group.name}", {"count": len(group.machines)}, opts)
        arguments = instance_arguments(self, group, site, tags)
        made: list[aws.ec2.Instance] = []
        for machine in group.machines:
            full, wave = f"{name}-{machine.name}", machine.index - group.max_unavailable
            before = site.routes if wave < 0 else [after(made[wave])]
            made.append(
                aws.ec2.Instance(
                    full,
                    opts=ResourceOptions(
                        parent=self,
                        depends_on=before,
                        delete_before_replace=True,  # its address is fixed
                        ignore_changes=IGNORED,
                        replacement_trigger=group.replace_digest,
                    ),
                    **arguments.of(machine, full),
                )
            )
        self.instance_ids = [each.id for each in made]
        self.register_outputs({"instance_ids": self.instance_ids})
