"""Routes to pods where no tunnel carries them (l2bridge): each machine's range to its network interface."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.plan import Machine
from components.topology.addressing import NetworkPlan


class PodRoutes(pulumi.ComponentResource):
    """NET-05: in every table that machines use, one route for each machine that has a pod range.

    A machine that is made anew keeps its range; its routes then change their interface in place.
    """

    def __init__(
        self,
        name: str,
        plan: NetworkPlan,
        table_ids: Mapping[str, Output[str]],
        interfaces: Mapping[Machine, Output[str]],
        opts: ResourceOptions | None = None,
    ) -> None:
        """interfaces: ids of the machines' network interfaces."""
        super().__init__("mullion:aws:PodRoutes", f"{name}-pods", {"count": len(interfaces)}, opts)
        used = {each.name for each in plan.machines}
        tables = [table.name for table in plan.tables if used & set(table.subnets)]
        for table in tables:
            for machine, interface in interfaces.items():
                aws.ec2.Route(
                    f"{name}-{table}-pods-{machine.name}",
                    route_table_id=table_ids[table],
                    destination_cidr_block=str(machine.pods),
                    network_interface_id=interface,
                    opts=ResourceOptions(parent=self),
                )
        self.register_outputs({"tables": tables})
