"""Routes to pods where no tunnel carries them (l2bridge): each machine's range to its address."""

from collections.abc import Iterable

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.place import Place
from components.plan import Machine


class PodRoutes(pulumi.ComponentResource):
    """NET-05: one route for each machine that has a pod range.

    By address, which a machine that is made anew keeps: so its route stays as it is.
    """

    def __init__(
        self,
        name: str,
        table: Output[str],
        machines: Iterable[Machine],
        place: Place,
        opts: ResourceOptions | None = None,
    ) -> None:
        """table: name of the subnets' route table."""
        ranges = {machine: str(machine.pods) for machine in machines}
        super().__init__("mullion:azure:PodRoutes", f"{name}-pods", {"count": len(ranges)}, opts)
        for machine, pods in ranges.items():
            azure.Route(
                f"{name}-pods-{machine.name}",
                route_name=machine.name,
                route_table_name=table,
                address_prefix=pods,
                next_hop_type="VirtualAppliance",
                next_hop_ip_address=str(machine.address),
                opts=ResourceOptions(parent=self, delete_before_replace=True),  # its name is fixed
                **place.within,
            )
        self.register_outputs({"count": len(ranges)})
