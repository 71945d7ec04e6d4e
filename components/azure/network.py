"""The virtual network: subnets, NAT gateways as planned, and the table of routes to pods where they are routed."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.addressing import ANYWHERE, NetworkPlan
from components.azure.place import Place, public_address
from components.settled import settled
from components.spec.models import Network as NetworkOptions
from components.spec.models import NetworkMode
from components.tags import Tags

SERVICES = ("Microsoft.Storage", "Microsoft.KeyVault")
"""Service endpoints: by them the cluster's stores know that a request comes from one of its subnets."""


class Network(pulumi.ComponentResource):
    """A virtual network with the planned subnets, and NAT gateways where planned."""

    network_id: Output[str]
    subnet_ids: Mapping[str, Output[str]]
    """Ids of the subnets, by planned name (machines-0)."""
    zone_names: Output[list[str]]
    """Names of the planned zones."""
    table: Output[str] | None
    """Name of the table of routes to pods, where they are routed."""
    routes: list[pulumi.Resource]
    """What must exist before a machine can reach anything."""

    def __init__(
        self,
        name: str,
        plan: NetworkPlan,
        zone_names: Output[list[str]],
        network: NetworkOptions,
        place: Place,
        tags: Tags,
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        """zone_names: names of the region's zones. RunError when the layout changed."""
        super().__init__("mullion:azure:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        self._cluster, self._place, self._tags = name, place, tags
        self._child = ResourceOptions(parent=self)
        self.zone_names, nodes = settled(name, plan, zone_names, network, self)
        made = azure.VirtualNetwork(
            name,
            virtual_network_name=name,
            address_space={"address_prefixes": [nodes]},  # waits for the layout's check
            tags=tags.on(self, azure.VirtualNetwork, name),
            opts=ResourceOptions(parent=self, protect=protect),
            **place.here,
        )
        self.network_id, self.table = made.id, None
        more: dict[str, Any] = {}
        if network.mode is NetworkMode.L2BRIDGE:
            table = self._table()
            self.table, more = table.name, {"route_table": {"id": table.id}}
        gateways = {each.name: self._gateway(each.name, index, plan) for index, each in enumerate(plan.gateways)}
        ways_out = {
            subnet: gateways[route.target].id
            for each in plan.tables
            for route in each.routes
            if route.destination == ANYWHERE and route.target in gateways
            for subnet in each.subnets
        }
        made_subnets: list[azure.Subnet] = []
        for each in plan.machines:
            nat = {"nat_gateway": {"id": ways_out[each.name]}} if each.name in ways_out else {}
            subnet = azure.Subnet(
                f"{name}-{each.name}",
                subnet_name=each.name,
                virtual_network_name=made.name,
                address_prefix=str(each.cidr),
                default_outbound_access=False,
                service_endpoints=[{"service": service} for service in SERVICES],
                # one after the other: a virtual network changes once at a time
                opts=ResourceOptions(parent=self, depends_on=made_subnets[-1:]),
                **place.within,
                **nat,
                **more,
            )
            made_subnets.append(subnet)
        self.routes = [*made_subnets]
        self.subnet_ids = {each.name: made.id for each, made in zip(plan.machines, made_subnets, strict=True)}
        self.register_outputs({"network_id": self.network_id, "subnet_ids": dict(self.subnet_ids)})

    def _gateway(self, gateway: str, index: int, plan: NetworkPlan) -> azure.NatGateway:
        """A gateway belongs to a zone where each has one, else to the region, which finds it a zone."""
        name = f"{self._cluster}-{gateway}"
        zones = [self.zone_names[index]] if len(plan.gateways) > 1 else None
        address = public_address(name, self._place, self._tags, self, zones)
        return azure.NatGateway(
            name,
            nat_gateway_name=name,
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            zones=zones,
            tags=self._tags.on(self, azure.NatGateway, name),
            opts=self._child,
            **self._place.here,
        )

    def _table(self) -> azure.RouteTable:
        name = f"{self._cluster}-pods"
        return azure.RouteTable(
            name,
            route_table_name=name,
            tags=self._tags.on(self, azure.RouteTable, name),
            opts=self._child,
            **self._place.here,
        )
