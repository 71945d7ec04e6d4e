"""Routes to pods where no tunnel carries them (l2bridge): each machine's range to its address."""

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.plan import Machine


class PodRoutes(pulumi.ComponentResource):
    """NET-05: one route for each machine that has a pod range.

    By address, which a machine that is made anew keeps: so its route stays as it is.
    """

    def __init__(
        self,
        name: str,
        network_id: Output[str],
        instances: Mapping[Machine, gcp.compute.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:gcp:PodRoutes", f"{name}-pods", {"count": len(instances)}, opts)
        for machine, instance in instances.items():
            full = f"{name}-pods-{machine.name}"
            gcp.compute.Route(
                full,
                name=full,
                network=network_id,
                dest_range=str(machine.pods),
                next_hop_ip=str(machine.address),
                opts=ResourceOptions(parent=self, depends_on=[instance]),
            )
        self.register_outputs({"count": len(instances)})
