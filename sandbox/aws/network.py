"""VPCs, subnets, gateways, routes, elastic addresses and endpoints."""

import re
from typing import Any

from sandbox.aws import addresses
from sandbox.aws.quotas import QUOTAS
from sandbox.aws.regions import zones
from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.quotas import beside

VPC, SUBNET, GATEWAY = "aws:ec2/vpc:Vpc", addresses.SUBNET, "aws:ec2/internetGateway:InternetGateway"
TABLE, EIP, NAT = "aws:ec2/routeTable:RouteTable", "aws:ec2/eip:Eip", "aws:ec2/natGateway:NatGateway"
INSTANCE, BALANCER = "aws:ec2/instance:Instance", "aws:lb/loadBalancer:LoadBalancer"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ROUTE, ASSOCIATION = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"


def in_vpc(holds: str = "refuse", path: str = "vpcId") -> Reference:
    """Return a reference to a VPC."""
    return Reference(path, VPC, "InvalidVpcID.NotFound", "The vpc ID '{id}' does not exist", holds)


def in_subnet(path: str = "subnetId", holds: str = "refuse") -> Reference:
    """Return a reference to a subnet."""
    return Reference(path, SUBNET, "InvalidSubnetID.NotFound", "The subnet ID '{id}' does not exist", holds)


def in_groups(path: str, holds: str = "refuse") -> Reference:
    """Return a reference to security groups."""
    return Reference(path, GROUP, "InvalidGroup.NotFound", "The security group '{id}' does not exist", holds)


def _vpc_range(request: Request) -> None:
    block = addresses.network(request.inputs.get("cidrBlock", ""), "InvalidParameterValue")
    if not 16 <= block.prefixlen <= 28:
        raise Refusal("InvalidVpc.Range", f"The CIDR '{block}' is invalid: a VPC has a /16 to /28.")


def _subnet_range(request: Request) -> None:
    block = addresses.network(request.inputs.get("cidrBlock", ""), "InvalidParameterValue")
    vpc = request.cloud_state.find(VPC, request.inputs["vpcId"])
    whole = addresses.network(vpc.inputs["cidrBlock"] if vpc else str(block), "InvalidVpc.Range")
    if not block.subnet_of(whole) or not 16 <= block.prefixlen <= 28:
        raise Refusal("InvalidSubnet.Range", f"The CIDR '{block}' is invalid.")
    for other in request.cloud_state.referrers(VPC, request.inputs["vpcId"]):
        same = other.type != SUBNET or other.sequence == request.sequence
        if not same and block.overlaps(addresses.network(other.inputs["cidrBlock"], "InvalidSubnet.Range")):
            raise Refusal("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet")


def has_gateway(request: Request, vpc: str) -> bool:
    """Return whether an internet gateway is attached to a VPC."""
    return any(one.type == GATEWAY for one in request.cloud_state.referrers(VPC, vpc))


def _route_range(request: Request) -> None:
    """Check that a route's range is canonical, and not inside the VPC's own range, which is always local."""
    cidr, table = (
        request.inputs.get("destinationCidrBlock"),
        request.cloud_state.find(TABLE, request.inputs["routeTableId"]),
    )
    vpc = request.cloud_state.find(VPC, table.inputs["vpcId"]) if table else None
    if cidr is None or vpc is None:
        return
    block = addresses.network(cidr, "InvalidParameterValue")
    inside = block.subnet_of(addresses.network(vpc.inputs["cidrBlock"], "InvalidVpc.Range"))
    if inside and not request.inputs.get("networkInterfaceId"):
        raise Refusal(
            "InvalidParameterValue",
            f"The destination CIDR block {block} is equal to or more specific than one of this VPC's CIDR blocks. This"
            " route can target only an interface or an instance.",
        )


def _route_interface(request: Request) -> None:
    """Check that a route to an interface leads to a machine of the table's VPC.

    If the machine is deleted, the route stays and leads nowhere.
    """
    interface = request.inputs.get("networkInterfaceId")
    if interface is None:
        return
    owners = request.cloud_state.resources(INSTANCE)
    owner = next((each for each in owners if each.outputs.get("primaryNetworkInterfaceId") == interface), None)
    if owner is None:
        raise Refusal("InvalidNetworkInterfaceID.NotFound", f"The networkInterface ID '{interface}' does not exist")
    table = request.cloud_state.find(TABLE, request.inputs["routeTableId"])
    subnet = request.cloud_state.find(SUBNET, owner.inputs.get("subnetId", ""))
    if table and subnet and subnet.inputs["vpcId"] != table.inputs["vpcId"]:
        raise Refusal(
            "InvalidParameterValue", f"route table {table.id} and interface {interface} belong to different networks"
        )


def _same_vpc(request: Request) -> None:
    """Check that a route table, its targets and its subnets belong to one VPC."""
    table = request.cloud_state.find(TABLE, request.inputs.get("routeTableId", ""))
    for type, path in ((GATEWAY, "gatewayId"), (SUBNET, "subnetId")):
        other = request.cloud_state.find(type, request.inputs.get(path) or "")
        if table and other and other.inputs.get("vpcId") not in (None, table.inputs["vpcId"]):
            raise Refusal(
                "InvalidParameterValue", f"route table {table.id} and {other.id} belong to different networks"
            )


def _subnet_zone(request: Request) -> None:
    zone = request.inputs.get("availabilityZone")
    if zone is not None and zone not in zones(request.region):
        known = ", ".join(zones(request.region))
        raise Refusal(
            "InvalidParameterValue",
            f"Value ({zone}) for parameter availabilityZone is invalid. Subnets can currently only be created in the"
            f" following availability zones: {known}.",
        )


def _subnet(request: Request) -> dict[str, Any]:
    by_name = zones(request.region)
    by_id = {id: name for name, id in by_name.items()}
    zone = request.inputs.get("availabilityZone") or by_id.get(request.inputs.get("availabilityZoneId", ""))
    zone = zone or list(by_name)[int(request.digits(2), 16) % len(by_name)]
    return {"availabilityZone": zone, "availabilityZoneId": by_name[zone]}


def _mapped_addresses(request: Request) -> None:
    """Refuse to detach a gateway while machines, NAT gateways or load balancers of the VPC have public addresses."""
    vpc = request.inputs.get("vpcId", "")
    for subnet in [record for record in request.cloud_state.referrers(VPC, vpc) if record.type == SUBNET]:
        for user in request.cloud_state.referrers(SUBNET, subnet.id):
            public = user.outputs.get("publicIp") or (user.type == BALANCER and not user.outputs.get("internal"))
            if public:
                raise Refusal(
                    "DependencyViolation",
                    f"Network {vpc} has some mapped public address(es) ({user.id}). Please unmap those public"
                    " address(es) before detaching the gateway.",
                )


_ARN = "arn:aws:ec2:{region}:{account}:"
_DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
_LOCAL = 1
"""Number of routes to the VPC's own range, which count towards the quota."""


def _routes_beside(request: Request) -> int:
    table = request.inputs["routeTableId"]
    return _LOCAL + sum(one.type == ROUTE for one in request.cloud_state.referrers(TABLE, table))


_ROUTE_TARGETS = (
    *("carrierGatewayId", "coreNetworkArn", "egressOnlyGatewayId", "gatewayId", "localGatewayId", "natGatewayId"),
    *("networkInterfaceId", "odbNetworkArn", "transitGatewayId", "vpcEndpointId", "vpcPeeringConnectionId"),
)

TYPES: dict[str, ResourceType] = {
    VPC: ResourceType(
        id="vpc-0{hex:16}",
        immutable=("cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"),
        fallback={"instanceTenancy": "default", "enableDnsSupport": True, "enableDnsHostnames": False},
        outputs={
            "arn": _ARN + "vpc/{id}",
            "ownerId": "{account}",
            "mainRouteTableId": "rtb-0{hex:16:table}",
            "defaultRouteTableId": "rtb-0{hex:16:table}",
            "defaultSecurityGroupId": "sg-0{hex:16:group}",
            "defaultNetworkAclId": "acl-0{hex:16:acl}",
            "dhcpOptionsId": "dopt-0{hex:16:dhcp}",
        },
        at_least_one=(("cidrBlock", "ipv4IpamPoolId"),),
        in_use=("DependencyViolation", "The vpc '{id}' has dependencies and cannot be deleted."),
        patterns={"instanceTenancy": (re.compile("default|dedicated"), "default or dedicated")},
        rules=(_vpc_range, QUOTAS.at_most("VPCs per region")),
    ),
    SUBNET: ResourceType(
        id="subnet-0{hex:16}",
        immutable=("vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId", "ipv6Native", "outpostArn"),
        chosen=("availabilityZone", "availabilityZoneId", "privateDnsHostnameTypeOnLaunch"),
        fallback={"mapPublicIpOnLaunch": False, "assignIpv6AddressOnCreation": False},
        outputs={
            "arn": _ARN + "subnet/{id}",
            "ownerId": "{account}",
            "privateDnsHostnameTypeOnLaunch": "ip-name",
        },
        derive=_subnet,
        at_most_one=(("availabilityZone", "availabilityZoneId"),),
        at_least_one=(("cidrBlock", "ipv4IpamPoolId", "ipv6CidrBlock"),),
        references=(in_vpc(),),
        in_use=("DependencyViolation", "The subnet '{id}' has dependencies and cannot be deleted."),
        rules=(_subnet_range, _subnet_zone, QUOTAS.at_most("subnets per VPC", beside(VPC, "vpcId"))),
    ),
    GATEWAY: ResourceType(
        id="igw-0{hex:16}",
        outputs={"arn": _ARN + "internet-gateway/{id}", "ownerId": "{account}"},
        references=(in_vpc(),),
        unique=(
            Unique(
                "gateway",
                ("vpcId",),
                "Resource.AlreadyAssociated",
                "resource {in_.vpcId} is already attached to an internet gateway",
            ),
        ),
        rules=(QUOTAS.at_most("internet gateways per region"),),
        delete_rules=(_mapped_addresses,),
    ),
    TABLE: ResourceType(
        id="rtb-0{hex:16}",
        immutable=("vpcId",),
        outputs={"arn": _ARN + "route-table/{id}", "ownerId": "{account}"},
        references=(in_vpc(),),
        in_use=("DependencyViolation", "The routeTable '{id}' has dependencies and cannot be deleted."),
        rules=(QUOTAS.at_most("route tables per VPC", beside(VPC, "vpcId")),),
    ),
    ROUTE: ResourceType(
        id="r-{in_.routeTableId}{hex:10}",
        immutable=("routeTableId", *_DESTINATIONS),
        outputs={"origin": "CreateRoute", "state": "active"},
        at_most_one=(_DESTINATIONS, _ROUTE_TARGETS),
        at_least_one=(_DESTINATIONS, _ROUTE_TARGETS),
        references=(
            Reference(
                "routeTableId",
                TABLE,
                "InvalidRouteTableID.NotFound",
                "The routeTable ID '{id}' does not exist",
                "vanish",
            ),
            Reference(
                "gatewayId", GATEWAY, "InvalidInternetGatewayID.NotFound", "No internet gateway '{id}'", only="igw-"
            ),
            Reference("natGatewayId", NAT, "InvalidNatGatewayID.NotFound", "The natGateway ID '{id}' does not exist"),
        ),
        unique=(
            Unique(
                "route",
                ("routeTableId", "destinationCidrBlock"),
                "RouteAlreadyExists",
                "The route identified by {in_.destinationCidrBlock} already exists.",
            ),
        ),
        rules=(_route_range, _route_interface, _same_vpc, QUOTAS.at_most("routes per route table", _routes_beside)),
    ),
    ASSOCIATION: ResourceType(
        id="rtbassoc-0{hex:16}",
        immutable=("subnetId", "gatewayId"),
        at_most_one=(("subnetId", "gatewayId"),),
        at_least_one=(("subnetId", "gatewayId"),),
        references=(
            in_subnet(holds="vanish"),
            Reference(
                "routeTableId",
                TABLE,
                "InvalidRouteTableID.NotFound",
                "The routeTable ID '{id}' does not exist",
                "refuse",
            ),
        ),
        unique=(
            Unique(
                "association",
                ("subnetId",),
                "Resource.AlreadyAssociated",
                "the specified association for route table {in_.routeTableId} conflicts with an existing association",
            ),
        ),
        rules=(_same_vpc,),
    ),
}
