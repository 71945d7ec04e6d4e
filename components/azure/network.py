"""The virtual network: subnets, NAT gateways as planned, and the table of routes to pods where they are routed."""

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.images import ZONES
from components.azure.place import Place, public_address
from components.spec.models import NetworkMode
from components.topology.reachability import default_route
from components.wiring.context import ClusterContext
from components.wiring.fixed_layout import fixed_layout

SERVICES = ("Microsoft.Storage", "Microsoft.KeyVault")
"""Service endpoints: by them the cluster's stores know that a request comes from one of its subnets."""


class Network(pulumi.ComponentResource):
    """A virtual network with the planned subnets, and NAT gateways where planned."""

    network_id: Output[str]
    subnet_ids: list[Output[str]]
    """Of the machines' subnets, by zone."""
    zone_names: Output[list[str]]
    """Names of the planned zones."""
    table: azure.RouteTable | None
    """Of routes to pods, where they are routed."""
    routes: list[pulumi.Resource]
    """What must exist before a machine can reach anything."""

    def __init__(self, context: ClusterContext, place: Place, opts: ResourceOptions | None = None) -> None:
        """RunError when the layout changed."""
        name, plan, spec = context.plan.name, context.plan.network, context.plan.spec
        super().__init__("mullion:azure:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        zones = Output.from_input(list(plan.zone_names or ZONES))
        self.zone_names, nodes = fixed_layout(name, plan, zones, spec.network, self)
        made = azure.VirtualNetwork(
            name,
            virtual_network_name=name,
            address_space={"address_prefixes": [nodes]},  # waits for the layout's check
            **place.here(self, azure.VirtualNetwork, name, ResourceOptions(parent=self, protect=spec.protect)),
        )
        self.network_id, self.table = made.id, None
        if spec.network.mode is NetworkMode.L2BRIDGE:
            full = f"{name}-pods"
            self.table = azure.RouteTable(full, route_table_name=full, **place.here(self, azure.RouteTable, full))
        zonal = len(plan.gateways) > 1
        gateways = {
            each.name: self._gateway(f"{name}-{each.name}", place, [self.zone_names[index]] if zonal else None)
            for index, each in enumerate(plan.gateways)
        }
        subnets: dict[str, azure.Subnet] = {}
        for each in plan.machines:
            way_out = default_route(plan, each.name)
            gateway = gateways.get(way_out.target) if way_out else None
            subnets[each.name] = azure.Subnet(
                f"{name}-{each.name}",
                subnet_name=each.name,
                virtual_network_name=made.name,
                address_prefix=str(each.cidr),
                default_outbound_access=False,
                service_endpoints=[{"service": service} for service in SERVICES],
                nat_gateway={"id": gateway.id} if gateway else None,
                route_table={"id": self.table.id} if self.table else None,
                # one after the other: a virtual network changes once at a time
                opts=ResourceOptions(parent=self, depends_on=[*subnets.values()][-1:]),
                **place.within,
            )
        self.routes = [*subnets.values()]
        self.subnet_ids = [each.id for each in subnets.values()]
        named = {each: made.id for each, made in subnets.items()}
        self.register_outputs({"network_id": self.network_id, "subnet_ids": named})

    def _gateway(self, name: str, place: Place, zones: list[Output[str]] | None) -> azure.NatGateway:
        """A gateway belongs to a zone where each has one, else to the region, which finds it a zone."""
        address = public_address(name, place, self, zones)
        return azure.NatGateway(
            name,
            nat_gateway_name=name,
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            zones=zones,
            **place.here(self, azure.NatGateway, name),
        )
