"""The VPC network: subnetworks, the default route and Cloud NAT, or the way to Google's services alone."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.clouds import GOOGLE_APIS
from components.gcp.place import Place
from components.spec.choices import Egress
from components.topology.addressing import ANYWHERE, NetworkPlan
from components.wiring.context import ClusterContext
from components.wiring.fixed_layout import fixed_layout

PORTS_PER_MACHINE = 256
"""Minimum NAT ports of a machine (Cloud NAT documentation, "Port reservation": 64 by default). Image pulls open many
connections to one registry."""


class UsableNetwork(pulumi.ComponentResource):
    """A network that machines can use: Mullion's, or the user's (components/gcp/existing.py)."""

    network_id: Output[str]
    """Id of the network."""
    project: str | None = None
    """Project of the user's network, in which firewall rules and routes are created; None: the provider's."""
    machine_subnets: list[Output[str]]
    """Ids of the subnetworks, by zone."""
    zone_names: Output[list[str]]
    """Names of the planned zones."""
    routes: list[pulumi.Resource]
    """Default route and NAT, or routes to Google's services and their names: machines have no connection before these
    exist. Empty for the user's."""


class GoogleNames(pulumi.ComponentResource):
    """A private zone that gives all names of Google's APIs the addresses of private.googleapis.com.

    Source: VPC, "Configure Private Google Access", "DNS configuration".
    """

    records: list[pulumi.Resource]

    def __init__(self, context: ClusterContext, network: UsableNetwork, opts: ResourceOptions | None = None) -> None:
        name, domain = context.plan.name, "googleapis.com."
        super().__init__("mullion:gcp:GoogleNames", name, {"domain": domain}, opts)
        child = ResourceOptions(parent=self)
        zone = gcp.dns.ManagedZone(
            f"{name}-googleapis",
            name=f"{name}-googleapis",
            dns_name=domain,
            description=f"Google's APIs for nodes of {name}",
            visibility="private",
            private_visibility_config={"networks": [{"network_url": network.network_id}]},
            labels=context.tags.labels(self, gcp.dns.ManagedZone, f"{name}-googleapis"),
            opts=child,
        )
        private, addresses = f"private.{domain}", [str(each) for each in GOOGLE_APIS]
        rows = (("private", private, "A", addresses), ("every", f"*.{domain}", "CNAME", [private]))
        self.records = [
            gcp.dns.RecordSet(
                f"{name}-googleapis-{row}",
                managed_zone=zone.name,
                name=of,
                type=kind,
                ttl=300,
                rrdatas=values,
                opts=child,
            )
            for row, of, kind, values in rows
        ]
        self.register_outputs({"domain": domain})


class Network(UsableNetwork):
    """A network with the planned subnetworks, and a default route and NAT, or routes to Google's services alone."""

    subnet_ids: Mapping[str, Output[str]]
    """Ids of the subnetworks, by planned name (machines-0)."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        zone_names: Output[list[str]],
        opts: ResourceOptions | None = None,
    ) -> None:
        """zone_names: of the region. Raises RunError if these are fewer than planned, or the layout changed."""
        name, plan, region = context.plan.name, context.plan.network, place.region
        super().__init__("mullion:gcp:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        self._cluster, self._child = name, ResourceOptions(parent=self)
        self.zone_names, nodes = fixed_layout(context.plan, zone_names, self)
        network = gcp.compute.Network(
            f"{name}-network",
            name=name,
            description=Output.concat("Nodes of ", name, ": ", nodes),  # resolves once the layout's check has passed
            auto_create_subnetworks=False,
            delete_default_routes_on_create=True,
            mtu=context.plan.spec.cloud.facts.mtu,
            routing_mode="REGIONAL",
            opts=ResourceOptions(parent=self, protect=context.plan.spec.protect),
        )
        self.network_id = network.id
        self.subnet_ids = {
            subnet.name: gcp.compute.Subnetwork(
                f"{name}-{subnet.name}",
                name=f"{name}-{subnet.name}",
                network=network.id,
                region=region,
                ip_cidr_range=str(subnet.cidr),
                private_ip_google_access=True,
                opts=self._child,
            ).id
            for subnet in plan.machines
        }
        self.machine_subnets = [self.subnet_ids[subnet.name] for subnet in plan.machines]
        if context.plan.spec.network.egress is Egress.NONE:
            # nothing leaves the network: Google routes these ranges to its own services
            to = {str(route.destination): route.destination for table in plan.tables for route in table.routes}
            routes = [self._route(f"{name}-google-{re.sub('[./]', '-', text)}", each) for text, each in to.items()]
            self.routes = [*routes, *GoogleNames(context, self, opts=opts).records]
        else:
            self.routes = [self._route(f"{name}-internet", ANYWHERE), *self._nat(region, plan)]
        self.register_outputs({"network_id": self.network_id, "subnet_ids": dict(self.subnet_ids)})

    def _route(self, full: str, destination: IPv4Network) -> pulumi.Resource:
        return gcp.compute.Route(
            full,
            name=full,
            network=self.network_id,
            dest_range=str(destination),
            next_hop_gateway="default-internet-gateway",
            opts=self._child,
        )

    def _nat(self, region: Output[str], plan: NetworkPlan) -> list[pulumi.Resource]:
        """Return Cloud NAT if planned: one for the region, in all its zones."""
        if not plan.gateways:
            return []
        name = f"{self._cluster}-nat"
        router = gcp.compute.Router(name, name=name, network=self.network_id, region=region, opts=self._child)
        subnets: list[gcp.compute.RouterNatSubnetworkArgsDict] = [
            {"name": id_, "source_ip_ranges_to_nats": ["PRIMARY_IP_RANGE"]} for id_ in self.machine_subnets
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
