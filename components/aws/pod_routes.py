"""Routes to pods in l2bridge mode: each machine's pod range to its network interface."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
from pulumi import ResourceOptions

from components.aws.network import UsableNetwork
from components.plan import Machine
from components.wiring.context import ClusterContext


class PodRoutes(pulumi.ComponentResource):
    """NET-05: a route for each machine, in every route table of machines.

    A replaced machine keeps its range; its routes then change their interface in place. A removed one is drained
    before its routes are deleted.
    """

    def __init__(
        self,
        context: ClusterContext,
        network: UsableNetwork,
        instances: Mapping[Machine, aws.ec2.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        name, plan = context.plan.name, context.plan.network
        super().__init__("mullion:aws:PodRoutes", f"{name}-pods", {"count": len(instances)}, opts)
        for table in plan.machine_tables:
            for machine, instance in instances.items():
                aws.ec2.Route(
                    f"{name}-{table}-pods-{machine.name}",
                    route_table_id=network.table_ids[table],
                    destination_cidr_block=str(machine.pods),
                    network_interface_id=instance.primary_network_interface_id,
                    opts=ResourceOptions(parent=self, hooks=context.pod_routes.of(machine.name)),
                )
        self.register_outputs({"tables": list(plan.machine_tables)})
