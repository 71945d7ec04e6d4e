"""The control plane's machines: chained, and never replaced or stopped by a change of the stack."""

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.machines import IGNORED, Site, instance_arguments
from components.plan import MachineGroup
from components.tags import Tags

DISK = [f"rootBlockDevice.{each}" for each in ("encrypted", "volumeSize", "volumeType")]
"""All of the disk but its tags."""


class ControlPlane(pulumi.ComponentResource):
    """One or three machines. Changes reach them through the desired-state pointer."""

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
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:aws:ControlPlane", name, {"count": len(group.machines)}, opts)
        arguments = instance_arguments(self, group, Output.from_input(group), site, tags)
        before: list[pulumi.Resource] = site.routes
        self.instance_ids, self.interface_ids = [], []
        for machine in group.machines:
            full = f"{name}-{machine.name}"
            instance = aws.ec2.Instance(
                full,
                opts=ResourceOptions(
                    parent=self,
                    depends_on=before,
                    protect=protect,
                    delete_before_replace=True,  # its address is fixed
                    ignore_changes=[*IGNORED, "ami", "instanceType", *DISK],
                ),
                **arguments.of(machine, full),
            )
            before = [instance]
            self.instance_ids.append(instance.id)
            self.interface_ids.append(instance.primary_network_interface_id)
        self.register_outputs({"instance_ids": self.instance_ids})
