"""The virtual network: subnets, NAT gateways where planned, and in l2bridge mode the routes to pods."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.bastion import Bastion
from components.azure.firewall import Firewall
from components.azure.images import ZONES
from components.azure.place import Place, public_address
from components.azure.pod_routes import table_of_pods
from components.spec.models import NetworkMode
from components.topology.firewall import SecurityGroup
from components.topology.reachability import default_route
from components.wiring.context import ClusterContext
from components.wiring.fixed_layout import fixed_layout

SERVICES = ("Microsoft.Storage", "Microsoft.KeyVault")
"""Service endpoints of the subnets: the stores' network rules then recognise requests from these subnets."""


class UsableNetwork(pulumi.ComponentResource):
    """A virtual network that machines can use: Mullion's, or the user's (components/azure/existing.py)."""

    network_id: Output[str]
    subnet_ids: list[Output[str]]
    """Ids of the machines' subnets, by zone."""
    admitted_subnets: list[Output[str]]
    """The same ids, each once (a subnet of the user may serve several zones): stores and vault admit them by their
    service endpoints. Empty if stores and vault have private endpoints."""
    endpoint_subnet: Output[str] | None
    """Id of the subnet of private endpoints; None if there are none."""
    service_zones: Mapping[str, Output[str]] = {}
    """Ids of the user's private zones of endpoints, by the zones' names; empty if Mullion makes zones."""
    zone_names: Output[list[str]]
    """Names of the planned zones."""
    balanced_zones: Output[list[str]]
    """Zones of load balancers and their public addresses: Azure takes one zone or all of the region's."""
    routes: list[pulumi.Resource]
    """Subnets with their NAT gateways: machines have no connection before these exist. Empty for the user's network."""
    bastion: Bastion | None
    """Subnet of the Bastion host, which the caller adds to it; None if there is none, or it is the user's."""


class Network(UsableNetwork):
    """A virtual network with the planned subnets, and NAT gateways and a Bastion host where planned."""

    def __init__(
        self, context: ClusterContext, place: Place, firewall: Firewall, opts: ResourceOptions | None = None
    ) -> None:
        """Raises RunError if the layout changed."""
        name, plan, spec = context.plan.name, context.plan.network, context.plan.spec
        super().__init__("mullion:azure:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        zones = Output.from_input(list(plan.zone_names or ZONES))
        self.zone_names, nodes = fixed_layout(context.plan, zones, self)
        self.balanced_zones = self.zone_names if plan.zones == 1 else Output.from_input(list(ZONES))
        network = self._network(context, place, nodes)  # resolves once the layout's check has passed
        self.network_id = network.id
        table = table_of_pods(context, place, self) if spec.network.mode is NetworkMode.L2BRIDGE else None
        zonal = len(plan.gateways) > 1
        gateways = {
            nat.name: self._gateway(
                f"{name}-{nat.name}",
                place,
                # resolves once the layout's check has passed, so a refused layout makes no gateway
                self.zone_names.apply(lambda names, at=index: [names[at]] if zonal else None),
            )
            for index, nat in enumerate(plan.gateways)
        }
        # The host's subnet comes first, so that whatever waits for the machines' subnets also waits for it: Azure
        # refuses rules of a store or vault while a subnet of the network is being updated (SubnetsNotProvisioned)
        self.bastion = Bastion(context, place, network.name, opts=opts) if context.plan.builds_bastion else None
        first = [self.bastion.subnet] if self.bastion else []
        subnets: dict[str, azure.Subnet] = {}
        for subnet in (*plan.endpoints, *plan.machines):
            route = default_route(plan, subnet.name)
            gateway = gateways.get(route.target) if route else None
            inside = {
                "service_endpoints": None if plan.endpoints else [{"service": service} for service in SERVICES],
                "nat_gateway": {"id": gateway.id} if gateway else None,
                "route_table": {"id": table.id} if table else None,
            }
            subnets[subnet.name] = azure.Subnet(
                f"{name}-{subnet.name}",
                subnet_name=subnet.name,
                virtual_network_name=network.name,
                address_prefix=str(subnet.cidr),
                default_outbound_access=False,
                **(_closed(firewall) if subnet in plan.endpoints else inside),
                # one after the other: Azure refuses concurrent changes of a virtual network
                opts=ResourceOptions(parent=self, depends_on=[*first, *subnets.values()][-1:]),
                **place.within,
            )
        self.routes = [*subnets.values()]
        self.subnet_ids = [subnets[each.name].id for each in plan.machines]
        self.admitted_subnets = [] if plan.endpoints else self.subnet_ids
        self.endpoint_subnet = next((subnets[each.name].id for each in plan.endpoints), None)
        ids = {subnet: resource.id for subnet, resource in subnets.items()}
        self.register_outputs({"network_id": self.network_id, "subnet_ids": ids})

    def _network(self, context: ClusterContext, place: Place, nodes: Output[str]) -> azure.VirtualNetwork:
        """Return the virtual network. nodes: its range.

        The provider sends the whole network, so a change of tags would remove DNS servers and a DDoS plan that
        administrators or policies added; no other input changes.
        """
        name, protect = context.plan.name, context.plan.spec.protect
        fixed = ResourceOptions(parent=self, protect=protect, ignore_changes=["tags"])
        return azure.VirtualNetwork(
            name,
            virtual_network_name=name,
            address_space={"address_prefixes": [nodes]},
            **place.here(self, azure.VirtualNetwork, name, fixed),
        )

    def _gateway(self, name: str, place: Place, zones: Output[list[str] | None]) -> azure.NatGateway:
        """Return a NAT gateway in these zones; None: Azure chooses the zone."""
        address = public_address(name, place, self, zones)
        return azure.NatGateway(
            name,
            nat_gateway_name=name,
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            zones=zones,
            **place.here(self, azure.NatGateway, name),
        )


def _closed(firewall: Firewall) -> dict[str, Any]:
    """Return the arguments of the subnet of private endpoints: its rules apply to them only with this policy.

    Source: Private Link, "Manage network policies for private endpoints".
    """
    return {
        "network_security_group": {"id": firewall.rules_ids[SecurityGroup.ENDPOINTS]},
        "private_endpoint_network_policies": "NetworkSecurityGroupEnabled",
    }
