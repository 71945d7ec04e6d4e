"""The VPC network: subnetworks, the default route and Cloud NAT, or the way to Google's services alone."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.gcp.place import Place
from components.spec.choices import Egress
from components.topology.addressing import ANYWHERE, NetworkPlan
from components.topology.private_endpoints import google_domains
from components.topology.service_zones import google_records
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
    """Private zones that give all names of Google's services the addresses of private.googleapis.com."""

    records: list[pulumi.Resource]

    def __init__(self, context: ClusterContext, network: UsableNetwork, opts: ResourceOptions | None = None) -> None:
        name, domains = context.plan.name, google_domains(context.plan.spec)
        super().__init__("mullion:gcp:GoogleNames", name, {"domains": list(domains)}, opts)
        self._context, self._network = context, network
        self.records = [record for domain in domains for record in self._zone(domain)]
        self.register_outputs({"domains": list(domains)})

    def _zone(self, domain: str) -> list[pulumi.Resource]:
        """Return the records of a new zone: one with the addresses, and the wildcard."""
        full, child = f"{self._context.plan.name}-{domain.replace('.', '-')}", ResourceOptions(parent=self)
        zone = gcp.dns.ManagedZone(
            full,
            name=full,
            dns_name=f"{domain}.",
            description=f"Google's services for nodes of {self._context.plan.name}",
            visibility="private",
            private_visibility_config={"networks": [{"network_url": self._network.network_id}]},
            labels=self._context.tags.labels(self, gcp.dns.ManagedZone, full),
            opts=child,
        )
        return [
            gcp.dns.RecordSet(
                f"{full}-{row}",
                managed_zone=zone.name,
                name=of,
                type=kind,
                ttl=300,
                rrdatas=values,
                opts=child,
            )
            for row, (of, kind, values) in google_records(domain).items()
        ]


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
