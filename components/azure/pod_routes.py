"""Routes to pods in l2bridge mode: each machine's pod range to its address."""

from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.place import Place
from components.wiring.context import ClusterContext


def table_of_pods(context: ClusterContext, place: Place, parent: pulumi.Resource) -> azure.RouteTable:
    """NET-05: return the subnets' route table, with a route for each machine.

    All routes are in the table's own request: Azure refuses concurrent changes of a table
    (RetryableErrorDueToAnotherOperation), and subnets with a table that is being changed, and the provider does not
    retry either. A replaced machine keeps its address, so its route does not change. A removed one is drained before
    the table loses its route.

    Older clusters have the table NAME-pods with a resource for each route. This one has another name: the subnets then
    move to it before the engine deletes those routes.
    """
    full = f"{context.plan.name}-routes"
    routes: list[Any] = [
        {
            "name": machine.name,
            "address_prefix": str(machine.pods),
            "next_hop_type": "VirtualAppliance",
            "next_hop_ip_address": str(machine.address),
        }
        for machine in context.plan.machines
    ]
    options = ResourceOptions(parent=parent, hooks=context.pod_routes.of_table)
    here = place.here(parent, azure.RouteTable, full, options)
    return azure.RouteTable(full, route_table_name=full, routes=routes, **here)
