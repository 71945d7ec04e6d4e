"""Routes to pods in l2bridge mode: each machine's pod range to its address."""

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp
from pulumi import ResourceOptions

from components.gcp.network import UsableNetwork
from components.plan import Machine
from components.wiring.context import ClusterContext


class PodRoutes(pulumi.ComponentResource):
    """NET-05: a route for each machine.

    A replaced machine keeps its address, so its route does not change. A removed one is drained before its route is
    deleted.
    """

    def __init__(
        self,
        context: ClusterContext,
        network: UsableNetwork,
        instances: Mapping[Machine, gcp.compute.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        name = context.plan.name
        super().__init__("mullion:gcp:PodRoutes", f"{name}-pods", {"count": len(instances)}, opts)
        for machine, instance in instances.items():
            full = f"{name}-pods-{machine.name}"
            gcp.compute.Route(
                full,
                name=full,
                network=network.network_id,
                project=network.project,
                dest_range=str(machine.pods),
                next_hop_ip=str(machine.address),
                opts=ResourceOptions(parent=self, depends_on=[instance], hooks=context.pod_routes.of(machine.name)),
            )
        self.register_outputs({"count": len(instances)})
