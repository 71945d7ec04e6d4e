"""Creates, in a sandbox, the endpoints of AWS that machines of a user's VPC ask: there, or in a hub VPC."""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Network

from components.spec.models import ClusterSpec
from components.topology.private_endpoints import private_endpoints
from components.topology.service_zones import aws_record, aws_zones
from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import GROUP, INGRESS, ROUTE, SUBNET, VPC
from sandbox.aws.regions import zones
from sandbox.aws.route53 import RECORD, ZONE

Make = Callable[..., str]
"""Creates a resource from its type, its name and its inputs; returns its id."""

_HUBS = IPv4Network("10.0.0.0/8")
_HUB_PREFIX = 24
_TRANSIT_GATEWAY = "tgw-0123456789abcdef0"
"""Target of the route to the hub; the sandbox has no type for it."""


def create(make: Make, region: str, spec: ClusterSpec, place: tuple[str, str, list[str]]) -> None:
    """Create the endpoints of S3 and of the services that machines ask.

    place: ids of the VPC, of the machines' route table, and of their subnets. Services whose zone the stack file names
    in `service_zones` have their endpoint in a hub, to which a route of the table leads.
    """
    vpc, table, subnets = place
    given = spec.network.existing.service_zones if spec.network.existing else []
    named = aws_zones(spec, region)
    group = _group(make, spec, "endpoints", vpc)
    if named["s3"] not in given:
        make(ENDPOINT, "s3", vpcId=vpc, serviceName=f"com.amazonaws.{region}.s3", routeTableIds=[table])
    inside = {"vpcEndpointType": "Interface", "privateDnsEnabled": True, "securityGroupIds": [group]}
    for each in private_endpoints(spec):
        if named[each.service] not in given:
            name = f"com.amazonaws.{region}.{each.service}"
            make(ENDPOINT, each.name, vpcId=vpc, serviceName=name, subnetIds=subnets, **inside)
    if central := {service: zone for service, zone in named.items() if zone in given}:
        cidr = _hub(make, region, spec, vpc, central)
        make(ROUTE, "hub", routeTableId=table, destinationCidrBlock=cidr, transitGatewayId=_TRANSIT_GATEWAY)


def _group(make: Make, spec: ClusterSpec, name: str, vpc: str) -> str:
    """Create a security group that admits the machines to https; return its id."""
    group = make(GROUP, name, vpcId=vpc)
    https = {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443}
    make(INGRESS, name, securityGroupId=group, cidrIpv4=str(spec.network.nodes), **https)
    return group


def _hub(make: Make, region: str, spec: ClusterSpec, spoke: str, central: dict[str, str]) -> str:
    """Create a VPC with an endpoint and a zone for each service, which the user's VPC sees; return its range.

    spoke: id of the user's VPC. central: zones by service.
    """
    cidr = str(next(_free(spec)))
    vpc = make(VPC, "hub", cidrBlock=cidr, enableDnsSupport=True, enableDnsHostnames=True)
    subnet = make(SUBNET, "hub", vpcId=vpc, cidrBlock=cidr, availabilityZone=next(iter(zones(region))))
    group = _group(make, spec, "hub", vpc)
    inside = {"vpcEndpointType": "Interface", "subnetIds": [subnet], "securityGroupIds": [group]}
    for service, zone in central.items():
        name, end = f"hub-{service}", f"{service}.{region}.vpce.amazonaws.com"
        endpoint = make(ENDPOINT, name, vpcId=vpc, serviceName=f"com.amazonaws.{region}.{service}", **inside)
        seen = make(ZONE, name, name=zone, vpcs=[{"vpcId": vpc}, {"vpcId": spoke}])
        alias = {"name": f"{endpoint}-hub.{end}", "zoneId": "Z0", "evaluateTargetHealth": False}
        make(RECORD, name, zoneId=seen, name=aws_record(zone), type="A", aliases=[alias])
    return cidr


def _free(spec: ClusterSpec) -> Iterator[IPv4Network]:
    """Yield ranges that the cluster does not use."""
    used = (spec.network.nodes, spec.network.pods, spec.network.services, *spec.network.outside)
    return (each for each in _HUBS.subnets(new_prefix=_HUB_PREFIX) if not any(map(each.overlaps, used)))
