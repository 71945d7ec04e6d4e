"""The VPC: subnets, gateways and routes as planned."""

from collections.abc import Mapping
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.spec.models import Network as NetworkOptions
from components.topology.addressing import INTERNET, NetworkPlan
from components.wiring.fixed_layout import fixed_layout
from components.wiring.tags import Tags


class Network(pulumi.ComponentResource):
    """A VPC with the planned subnets, one gateway to the internet, and NAT where planned."""

    vpc_id: Output[str]
    """Id of the VPC."""
    subnet_ids: Mapping[str, Output[str]]
    """Ids of the subnets, by planned name (edge-0, machines-0)."""
    gateway: pulumi.Resource
    """The internet gateway."""
    table_ids: Mapping[str, Output[str]]
    """Ids of the route tables, by planned name."""
    routes: list[pulumi.Resource]
    """What must exist before a machine can reach anything."""

    def __init__(
        self,
        name: str,
        plan: NetworkPlan,
        zone_names: Output[list[str]],
        network: NetworkOptions,
        tags: Tags,
        *,
        protect: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        """zone_names: names of the region's zones. RunError when it has fewer than planned, or the layout changed."""
        super().__init__("mullion:aws:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        self._cluster, self._tags, self._plan = name, tags, plan
        names, nodes = fixed_layout(name, plan, zone_names, network, self)
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=nodes,  # so all else waits for the layout's check
            enable_dns_support=True,
            enable_dns_hostnames=True,  # private zones are answered only with both
            tags=tags.on(self, aws.ec2.Vpc, f"{name}-vpc"),
            opts=ResourceOptions(parent=self, protect=protect),
        )
        self.vpc_id = vpc.id
        self.subnet_ids = {each.name: self._subnet(each.name, names) for each in plan.subnets}
        internet = aws.ec2.InternetGateway(
            f"{name}-internet",
            vpc_id=vpc.id,
            tags=tags.on(self, aws.ec2.InternetGateway, f"{name}-internet"),
            opts=ResourceOptions(parent=self),
        )
        self.gateway = internet
        gateways = {each.name: self._nat_gateway(each.name, each.subnet, internet) for each in plan.gateways}
        tables = {each.name: self._route_table(each.name) for each in plan.tables}
        self.table_ids = {name: each.id for name, each in tables.items()}
        self.routes = self._routes(internet, gateways)
        self.register_outputs({"vpc_id": self.vpc_id, "subnet_ids": dict(self.subnet_ids)})

    def _subnet(self, name: str, zone_names: Output[list[str]]) -> Output[str]:
        subnet, full = self._plan.by_name[name], f"{self._cluster}-{name}"
        return aws.ec2.Subnet(
            full,
            vpc_id=self.vpc_id,
            cidr_block=str(subnet.cidr),
            availability_zone=zone_names[subnet.zone],
            tags=self._tags.on(self, aws.ec2.Subnet, full),
            opts=ResourceOptions(parent=self),
        ).id

    def _nat_gateway(self, name: str, subnet: str, internet: aws.ec2.InternetGateway) -> aws.ec2.NatGateway:
        full = f"{self._cluster}-{name}"
        address = aws.ec2.Eip(
            full, domain="vpc", tags=self._tags.on(self, aws.ec2.Eip, full), opts=ResourceOptions(parent=self)
        )
        return aws.ec2.NatGateway(
            full,
            allocation_id=address.allocation_id,
            subnet_id=self.subnet_ids[subnet],
            tags=self._tags.on(self, aws.ec2.NatGateway, full),
            opts=ResourceOptions(parent=self, depends_on=[internet]),  # it needs a VPC that is attached
        )

    def _route_table(self, name: str) -> aws.ec2.RouteTable:
        full, child = f"{self._cluster}-{name}", ResourceOptions(parent=self)
        tags = self._tags.on(self, aws.ec2.RouteTable, full)
        return aws.ec2.RouteTable(full, vpc_id=self.vpc_id, tags=tags, opts=child)

    def _routes(
        self, internet: aws.ec2.InternetGateway, gateways: Mapping[str, aws.ec2.NatGateway]
    ) -> list[pulumi.Resource]:
        made: list[pulumi.Resource] = []
        for table in self._plan.tables:
            full, child = f"{self._cluster}-{table.name}", ResourceOptions(parent=self)
            table_id = self.table_ids[table.name]
            for route in table.routes:
                to = (
                    {"gateway_id": internet.id}
                    if route.target == INTERNET
                    else {"nat_gateway_id": gateways[route.target].id}
                )
                made.append(
                    aws.ec2.Route(
                        f"{full}-{range_name(route.destination)}",
                        route_table_id=table_id,
                        destination_cidr_block=str(route.destination),
                        opts=child,
                        **to,
                    )
                )
            made += [
                aws.ec2.RouteTableAssociation(
                    f"{self._cluster}-{subnet}", route_table_id=table_id, subnet_id=self.subnet_ids[subnet], opts=child
                )
                for subnet in table.subnets
            ]
        return made


def range_name(destination: IPv4Network) -> str:
    """A range as part of a resource's name."""
    return str(destination).replace("/", "-")
