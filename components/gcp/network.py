"""The VPC network: subnetworks, the way to the internet, and Cloud NAT as planned."""

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.spec.models import Network as NetworkOptions
from components.topology.addressing import ANYWHERE, NetworkPlan
from components.wiring.fixed_layout import fixed_layout

MTU = 1500
"""Bytes; GCP's own 1460 is less than what images and peers take for granted."""

PORTS_PER_MACHINE = 256
"""Of a NAT address, at least (Cloud NAT documentation, "Port reservation": 64 by default): image pulls are many
connections to one registry."""


class Network(pulumi.ComponentResource):
    """A network of its own with the planned subnetworks, a default route, and NAT where planned."""

    network_id: Output[str]
    """Id of the network."""
    subnet_ids: Mapping[str, Output[str]]
    """Ids of the subnetworks, by planned name (machines-0)."""
    zone_names: Output[list[str]]
    """Names of the planned zones."""
    routes: list[pulumi.Resource]
    """What must exist before a machine can reach anything."""

    def __init__(
        self,
        name: str,
        plan: NetworkPlan,
        zone_names: Output[list[str]],
        network: NetworkOptions,
        region: Output[str],
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        """zone_names: names of the region's zones. RunError when it has fewer than planned, or the layout changed."""
        super().__init__("mullion:gcp:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        self._cluster, self._child = name, ResourceOptions(parent=self)
        self.zone_names, nodes = fixed_layout(name, plan, zone_names, network, self)
        made = gcp.compute.Network(
            f"{name}-network",
            name=name,
            description=Output.concat("Nodes of ", name, ": ", nodes),  # waits for the layout's check
            auto_create_subnetworks=False,
            delete_default_routes_on_create=True,
            mtu=MTU,
            routing_mode="REGIONAL",
            opts=ResourceOptions(parent=self, protect=protect),
        )
        self.network_id = made.id
        self.subnet_ids = {
            each.name: gcp.compute.Subnetwork(
                f"{name}-{each.name}",
                name=f"{name}-{each.name}",
                network=made.id,
                region=region,
                ip_cidr_range=str(each.cidr),
                private_ip_google_access=True,
                opts=self._child,
            ).id
            for each in plan.machines
        }
        internet = gcp.compute.Route(
            f"{name}-internet",
            name=f"{name}-internet",
            network=made.id,
            dest_range=str(ANYWHERE),
            next_hop_gateway="default-internet-gateway",
            opts=self._child,
        )
        self.routes = [internet, *self._nat(region, plan)]
        self.register_outputs({"network_id": self.network_id, "subnet_ids": dict(self.subnet_ids)})

    def _nat(self, region: Output[str], plan: NetworkPlan) -> list[pulumi.Resource]:
        """Cloud NAT is one service of the region, in all its zones."""
        if not plan.gateways:
            return []
        name = f"{self._cluster}-nat"
        router = gcp.compute.Router(name, name=name, network=self.network_id, region=region, opts=self._child)
        subnets: list[gcp.compute.RouterNatSubnetworkArgsDict] = [
            {"name": each, "source_ip_ranges_to_nats": ["PRIMARY_IP_RANGE"]} for each in self.subnet_ids.values()
        ]
        nat = gcp.compute.RouterNat(
            name,
            name=name,
            router=router.name,
            region=region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
            subnetworks=subnets,
            min_ports_per_vm=PORTS_PER_MACHINE,
            opts=self._child,
        )
        return [nat]
