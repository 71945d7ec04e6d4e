"""Creates, in a sandbox, the network of the user that a stack file names, as the user would have built it.

Its resources belong to no stack: their URNs begin with OWNER.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Any

from components.spec.existing import ExistingBastion
from components.spec.models import Cloud, ClusterSpec, Egress, ExistingNetwork
from components.topology.private_endpoints import private_endpoints
from sandbox import clouds
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider

OWNER = "urn:pulumi:yours::network::"
"""Beginning of the URNs of the user's resources."""

OTHER_ACCOUNT = "111111111111"
"""Owner of a shared VPC in the sandbox."""
_ANYWHERE = "0.0.0.0/0"
_EDGE_PREFIX = 28
"""Prefix length of the public subnets that AWS's NAT gateways and load balancers get here: AWS's smallest."""


@dataclass
class _Maker:
    """Creates resources with the ids that the stack file names."""

    cloud_state: CloudState
    provider: Provider

    def make(self, type: str, name: str, id: str = "", /, **inputs: Any) -> str:
        """Create a resource; return its id. id: of the stack file; the cloud's if empty."""
        cloud = self.provider.cloud
        row = cloud.types[type]
        row = replace(row, id=lambda _: id) if id else row
        self.provider.cloud = replace(cloud, types={**cloud.types, type: row})
        try:
            return self.provider.create(f"{OWNER}{type}::{name}", inputs, preview=False)[0]
        finally:
            self.provider.cloud = cloud


def create(cloud_state: CloudState, spec: ClusterSpec, region: str, zone: str = "") -> None:
    """Create the network of a spec. zone: name of the private zone. Raises Refusal if the sandbox refuses it.

    Raises ValueError if the spec names no existing network.
    """
    if spec.network.existing is None:
        raise ValueError("the spec names no existing network")
    provider = Provider(clouds.of(spec.cloud.value), cloud_state)
    provider.configure({provider.cloud.region: region})
    _MAKERS[spec.cloud](_Maker(cloud_state, provider), spec, spec.network.existing, zone)


def is_yours(urn: str) -> bool:
    """Return whether a resource of a sandbox belongs to the user's network."""
    return urn.startswith(OWNER)


def _aws(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork, zone: str) -> None:
    from sandbox.aws.network import ASSOCIATION, EIP, GATEWAY, NAT, ROUTE, SUBNET, TABLE, VPC
    from sandbox.aws.regions import zones
    from sandbox.aws.route53 import ZONE

    whole, place = spec.network.nodes, maker.provider.place
    while not (free := _free(whole, existing, len(existing.public_subnets) or 1)):
        whole = whole.supernet()
    if existing.private_zone:
        maker.provider.place = replace(place, account=OTHER_ACCOUNT)
    names = list(spec.network.zone_names or zones(place.region))
    vpc = maker.make(VPC, "vpc", existing.network, cidrBlock=str(whole), enableDnsSupport=True, enableDnsHostnames=True)
    tables = {name: maker.make(TABLE, name, vpcId=vpc) for name in ("public", "private")}
    edges = [
        maker.make(SUBNET, f"public-{index}", id, vpcId=vpc, cidrBlock=str(free[index]), availabilityZone=names[index])
        for index, id in enumerate(existing.public_subnets or [""])
    ]
    machines = [
        maker.make(
            SUBNET,
            f"machines-{index}",
            subnet.id,
            vpcId=vpc,
            cidrBlock=str(subnet.range),
            availabilityZone=names[index],
        )
        for index, subnet in enumerate(existing.subnets)
    ]
    if spec.network.egress is Egress.NONE:
        _aws_endpoints(maker, spec, vpc, tables["private"], machines)
    else:
        gateway, address = maker.make(GATEWAY, "internet", vpcId=vpc), maker.make(EIP, "nat", domain="vpc")
        nat = maker.make(NAT, "nat", allocationId=address, subnetId=edges[0])
        maker.make(ROUTE, "public", routeTableId=tables["public"], destinationCidrBlock=_ANYWHERE, gatewayId=gateway)
        maker.make(ROUTE, "private", routeTableId=tables["private"], destinationCidrBlock=_ANYWHERE, natGatewayId=nat)
    private = tables["public" if spec.network.egress is Egress.PUBLIC else "private"]
    for subnet, table in (*((each, tables["public"]) for each in edges), *((each, private) for each in machines)):
        maker.make(ASSOCIATION, subnet, subnetId=subnet, routeTableId=table)
    maker.provider.place = place
    if existing.private_zone:
        maker.make(ZONE, "zone", existing.private_zone, name=zone, vpcs=[{"vpcId": vpc}])


def _aws_endpoints(maker: _Maker, spec: ClusterSpec, vpc: str, table: str, subnets: list[str]) -> None:
    """Create the endpoints that machines ask: of S3 in their route table, others in their subnets."""
    from sandbox.aws.gateways import ENDPOINT
    from sandbox.aws.network import GROUP, INGRESS

    prefix = f"com.amazonaws.{maker.provider.place.region}"
    group = maker.make(GROUP, "endpoints", vpcId=vpc)
    https = {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443}
    maker.make(INGRESS, "endpoints", securityGroupId=group, cidrIpv4=str(spec.network.nodes), **https)
    maker.make(ENDPOINT, "s3", vpcId=vpc, serviceName=f"{prefix}.s3", routeTableIds=[table])
    inside = {"vpcEndpointType": "Interface", "privateDnsEnabled": True, "securityGroupIds": [group]}
    for each in private_endpoints(spec):
        name = f"{prefix}.{each.service}"
        maker.make(ENDPOINT, each.name, vpcId=vpc, serviceName=name, subnetIds=subnets, **inside)


def _free(whole: IPv4Network, existing: ExistingNetwork, count: int) -> list[IPv4Network]:
    """Return ranges in the network that no subnet of machines has; empty if there are fewer than `count`."""
    taken = [subnet.range for subnet in existing.subnets]
    free = [each for each in whole.subnets(new_prefix=_EDGE_PREFIX) if not any(map(each.overlaps, taken))]
    return free[:count] if len(free) >= count else []


def _azure(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork, zone: str) -> None:
    from sandbox.azure.names import ADDRESS, NAT, NETWORK, RESOURCE_GROUP, SUBNET

    _, _, subscription, _, group, *_, name = existing.network.split("/")
    maker.provider.place = replace(maker.provider.place, account=subscription)
    location = maker.provider.place.region
    maker.make(RESOURCE_GROUP, "group", resourceGroupName=group, location=location)
    here = {"resourceGroupName": group, "location": location}
    space = {"addressPrefixes": [str(spec.network.nodes)]}
    maker.make(NETWORK.token, "network", **here, virtualNetworkName=name, addressSpace=space)
    standard = {"sku": {"name": "Standard"}}
    address = maker.make(
        ADDRESS.token, "nat", **here, **standard, publicIpAddressName="nat", publicIPAllocationMethod="Static"
    )
    nat = maker.make(NAT.token, "nat", **here, **standard, natGatewayName="nat", publicIpAddresses=[{"id": address}])
    for subnet in existing.subnets:
        maker.make(
            SUBNET.token,
            subnet.id,
            resourceGroupName=group,
            virtualNetworkName=name,
            subnetName=subnet.id.rpartition("/")[2],
            addressPrefix=str(subnet.range),
            defaultOutboundAccess=False,
            natGateway={"id": nat},
            serviceEndpoints=[{"service": "Microsoft.Storage"}, {"service": "Microsoft.KeyVault"}],
        )
    if existing.bastion:
        _bastion(maker, existing.bastion, location)


def _bastion(maker: _Maker, bastion: ExistingBastion, location: str) -> None:
    """Create a Bastion host in a hub network of its own, which the user has peered with the cluster's."""
    from sandbox.azure.bastion_rules import NAME
    from sandbox.azure.names import ADDRESS, BASTION, NETWORK, RESOURCE_GROUP, SUBNET

    _, _, subscription, _, group, *_, name = bastion.id.split("/")
    maker.provider.place = replace(maker.provider.place, account=subscription)
    if not any(each.inputs["resourceGroupName"] == group for each in maker.cloud_state.resources(RESOURCE_GROUP)):
        maker.make(RESOURCE_GROUP, "hub", resourceGroupName=group, location=location)
    here, space = {"resourceGroupName": group, "location": location}, {"addressPrefixes": [str(bastion.range)]}
    maker.make(NETWORK.token, "hub", **here, virtualNetworkName=f"{name}-hub", addressSpace=space)
    of = {"resourceGroupName": group, "virtualNetworkName": f"{name}-hub", "subnetName": NAME}
    subnet = maker.make(SUBNET.token, "bastion", **of, addressPrefix=str(bastion.range))
    standard = {"sku": {"name": "Standard"}}
    static = {"publicIpAddressName": name, "publicIPAllocationMethod": "Static"}
    address = maker.make(ADDRESS.token, "bastion", **here, **standard, **static)
    place = {"name": "bastion", "subnet": {"id": subnet}, "publicIPAddress": {"id": address}}
    host = {"bastionHostName": name, "enableTunneling": True, "ipConfigurations": [place]}
    maker.make(BASTION.token, "bastion", **here, **standard, **host)


def _gcp(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork, zone: str) -> None:
    from sandbox.gcp.names import NAT, NETWORK, ROUTE, ROUTER, SUBNETWORK

    _, project, _, _, name = existing.network.split("/")
    network = maker.make(
        NETWORK, "network", project=project, name=name, autoCreateSubnetworks=False, mtu=spec.cloud.facts.mtu
    )
    region = existing.subnets[0].id.split("/")[3]
    for subnet in existing.subnets:
        short = subnet.id.rpartition("/")[2]
        here = {"project": project, "region": region, "network": network}
        maker.make(SUBNETWORK, short, **here, name=short, ipCidrRange=str(subnet.range))
    gateway = {"destRange": _ANYWHERE, "nextHopGateway": "default-internet-gateway"}
    maker.make(ROUTE, "internet", project=project, network=network, name=f"{name}-internet", **gateway)
    router = maker.make(ROUTER, "router", project=project, region=region, network=network, name=f"{name}-router")
    maker.make(
        NAT,
        "nat",
        project=project,
        region=region,
        router=router.rpartition("/")[2],
        name=f"{name}-nat",
        natIpAllocateOption="AUTO_ONLY",
        sourceSubnetworkIpRangesToNat="ALL_SUBNETWORKS_ALL_IP_RANGES",
    )


_MAKERS: dict[Cloud, Callable[[_Maker, ClusterSpec, ExistingNetwork, str], None]] = {
    Cloud.AWS: _aws,
    Cloud.AZURE: _azure,
    Cloud.GCP: _gcp,
}
