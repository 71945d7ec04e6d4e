"""Routes to pods in l2bridge mode: each machine's pod range to its address."""

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.place import Place
from components.wiring.context import ClusterContext


class PodRoutes(pulumi.ComponentResource):
    """NET-05: a route for each machine.

    A replaced machine keeps its address, so its route does not change.
    """

    def __init__(
        self, context: ClusterContext, place: Place, table: Output[str], opts: ResourceOptions | None = None
    ) -> None:
        """table: name of the subnets' route table."""
        name, machines = f"{context.plan.name}-pods", context.plan.machines
        super().__init__("mullion:azure:PodRoutes", name, {"count": len(machines)}, opts)
        for machine in machines:
            azure.Route(
                f"{name}-{machine.name}",
                route_name=machine.name,
                route_table_name=table,
                address_prefix=str(machine.pods),
                next_hop_type="VirtualAppliance",
                next_hop_ip_address=str(machine.address),
                opts=ResourceOptions(parent=self, delete_before_replace=True),  # its name is fixed
                **place.within,
            )
        self.register_outputs({"count": len(machines)})
