"""The VPC: subnets, gateways and routes as planned."""

from collections.abc import Mapping
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components.aws import cloud_controller, endpoint_policies
from components.spec.choices import Egress
from components.topology.addressing import INTERNET
from components.wiring.context import ClusterContext
from components.wiring.fixed_layout import fixed_layout


class UsableNetwork(pulumi.ComponentResource):
    """A VPC that machines and load balancers can use: Mullion's, or the user's (components/aws/existing.py)."""

    vpc_id: Output[str]
    """Id of the VPC."""
    machine_subnets: list[Output[str]]
    """Ids of the machines' subnets, by zone."""
    edge_subnets: list[Output[str]]
    """Ids of the public subnets, by zone."""
    endpoint_subnets: list[Output[str]]
    """Ids of the subnets for private endpoints, by zone; empty with a way to the internet."""
    zone_names: Output[list[str]]
    """Names of the zones, by zone."""
    gateways: list[pulumi.Resource]
    """The internet gateway; empty for the user's VPC, and without a way to the internet."""
    nat_addresses: list[Output[str]]
    """Public addresses of the NAT gateways; empty for the user's VPC, whose gateways are the owner's."""
    table_ids: Mapping[str, Output[str]]
    """Ids of the route tables, by planned name; empty for the user's VPC."""
    routes: list[pulumi.Resource]
    """Routes, their associations and the endpoint of S3: machines have no connection before these exist."""
    private_zone: Output[str] | None = None
    """Id of the user's private zone, if there is one."""


class Network(UsableNetwork):
    """A VPC with the planned subnets, and a gateway to the internet and NAT where planned."""

    vpc_arn: Output[str]
    subnet_ids: Mapping[str, Output[str]]
    """Ids of the subnets, by planned name (edge-0, machines-0)."""

    def __init__(
        self, context: ClusterContext, zone_names: Output[list[str]], opts: ResourceOptions | None = None
    ) -> None:
        """zone_names: of the region. Raises RunError if these are fewer than planned, or the layout changed."""
        name, plan, tags = context.plan.name, context.plan.network, context.tags
        super().__init__("mullion:aws:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        self._cluster, self._tags, self._plan, self._whole = name, tags, plan, context.plan
        self.zone_names, nodes = fixed_layout(context.plan, zone_names, self)
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=nodes,  # resolves once the layout's check has passed
            enable_dns_support=True,
            enable_dns_hostnames=True,  # private zones are answered only with both
            tags=tags.on(self, aws.ec2.Vpc, f"{name}-vpc"),
            opts=ResourceOptions(parent=self, protect=context.plan.spec.protect),
        )
        self.vpc_id, self.vpc_arn, self._vpc = vpc.id, vpc.arn, vpc
        self.subnet_ids = {subnet.name: self._subnet(subnet.name) for subnet in plan.subnets}
        self.machine_subnets = [self.subnet_ids[subnet.name] for subnet in plan.machines]
        self.edge_subnets = [self.subnet_ids[subnet.name] for subnet in plan.edge]
        self.endpoint_subnets = [self.subnet_ids[subnet.name] for subnet in plan.endpoints]
        used = any(route.target == INTERNET for table in plan.tables for route in table.routes)
        internet = self._internet(f"{name}-internet") if used else None
        self.gateways = [internet] if internet else []
        self.nat_addresses = []
        gateways = {nat.name: self._nat_gateway(nat.name, nat.subnet) for nat in plan.gateways}
        tables = {table.name: self._route_table(table.name) for table in plan.tables}
        self.table_ids = {name: table.id for name, table in tables.items()}
        self.routes = [*self._routes(internet, gateways), self._s3_endpoint()]
        self.register_outputs({"vpc_id": self.vpc_id, "subnet_ids": dict(self.subnet_ids)})

    def _internet(self, full: str) -> aws.ec2.InternetGateway:
        """Return the internet gateway, which a network without a way to the internet lacks."""
        tags = self._tags.on(self, aws.ec2.InternetGateway, full)
        return aws.ec2.InternetGateway(full, vpc_id=self.vpc_id, tags=tags, opts=ResourceOptions(parent=self))

    def _s3_endpoint(self) -> aws.ec2.VpcEndpoint:
        """Route traffic to S3 by a gateway endpoint, which is free; a NAT gateway charges for each gigabyte.

        Machines wait for it: AWS closes their open connections to S3 when it changes the route tables. With another way
        out a policy would protect nothing, and pods would miss public buckets.
        """
        spec = self._whole.spec
        closed = spec.network.egress is Egress.NONE
        full, region = f"{self._cluster}-s3", aws.get_region_output(opts=InvokeOptions(parent=self)).region
        return aws.ec2.VpcEndpoint(
            full,
            vpc_id=self.vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=Output.format("com.amazonaws.{}.s3", region),
            route_table_ids=[self.table_ids[table] for table in self._plan.machine_tables],
            policy=self.vpc_arn.apply(lambda arn: endpoint_policies.of_stores(arn, spec)) if closed else None,
            tags=self._tags.on(self, aws.ec2.VpcEndpoint, full),
            opts=ResourceOptions(parent=self),
        )

    def _subnet(self, name: str) -> Output[str]:
        subnet, full = self._plan.by_name[name], f"{self._cluster}-{name}"
        return aws.ec2.Subnet(
            full,
            vpc_id=self.vpc_id,
            cidr_block=str(subnet.cidr),
            availability_zone=self.zone_names[subnet.zone],
            tags=self._tags.on(self, aws.ec2.Subnet, full, others=cloud_controller.subnet_tags(self._whole, name)),
            opts=ResourceOptions(parent=self),
        ).id

    def _nat_gateway(self, name: str, subnet: str) -> aws.ec2.NatGateway:
        full = f"{self._cluster}-{name}"
        address = aws.ec2.Eip(
            full,
            domain="vpc",
            tags=self._tags.on(self, aws.ec2.Eip, full),
            opts=ResourceOptions(parent=self, depends_on=[self._vpc]),  # no address if the layout's check fails
        )
        self.nat_addresses.append(address.public_ip)
        return aws.ec2.NatGateway(
            full,
            allocation_id=address.allocation_id,
            subnet_id=self.subnet_ids[subnet],
            tags=self._tags.on(self, aws.ec2.NatGateway, full),
            opts=ResourceOptions(parent=self, depends_on=self.gateways),  # its VPC must have an internet gateway
        )

    def _route_table(self, name: str) -> aws.ec2.RouteTable:
        full, child = f"{self._cluster}-{name}", ResourceOptions(parent=self)
        tags = self._tags.on(self, aws.ec2.RouteTable, full)
        return aws.ec2.RouteTable(full, vpc_id=self.vpc_id, tags=tags, opts=child)

    def _routes(
        self, internet: aws.ec2.InternetGateway | None, gateways: Mapping[str, aws.ec2.NatGateway]
    ) -> list[pulumi.Resource]:
        routes: list[pulumi.Resource] = []
        for table in self._plan.tables:
            full, child = f"{self._cluster}-{table.name}", ResourceOptions(parent=self)
            table_id = self.table_ids[table.name]
            for route in table.routes:
                to = (
                    {"gateway_id": internet.id}
                    if route.target == INTERNET and internet
                    else {"nat_gateway_id": gateways[route.target].id}
                )
                routes.append(
                    aws.ec2.Route(
                        f"{full}-{range_name(route.destination)}",
                        route_table_id=table_id,
                        destination_cidr_block=str(route.destination),
                        opts=child,
                        **to,
                    )
                )
            routes += [
                aws.ec2.RouteTableAssociation(
                    f"{self._cluster}-{subnet}", route_table_id=table_id, subnet_id=self.subnet_ids[subnet], opts=child
                )
                for subnet in table.subnets
            ]
        return routes


def range_name(destination: IPv4Network) -> str:
    """Return a range as part of a resource's name."""
    return str(destination).replace("/", "-")
