"""Creates, in a sandbox, the networks of the user that a stack file names, as the user would have built them.

Its resources belong to no stack: their URNs begin with OWNER.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Any

from components.spec.existing import ExistingBastion
from components.spec.models import Cloud, ClusterSpec, Egress, ExistingNetwork
from components.topology.private_endpoints import google_domains
from components.topology.service_zones import google_records
from components.wiring.baking import PROJECT
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
    """Create the networks of a spec. zone: name of the private zone. Raises Refusal if the sandbox refuses one.

    Raises ValueError if the spec names none.
    """
    if not named(spec):
        raise ValueError("the spec names no existing network")
    provider = Provider(clouds.of(spec.cloud.value), cloud_state)
    provider.configure({provider.cloud.region: region})
    maker = _Maker(cloud_state, provider)
    if spec.network.existing:
        _MAKERS[spec.cloud](maker, spec, spec.network.existing, zone)
    for number, subnet in enumerate(spec.api.virtual_network_rules):
        _azure_runners(maker, subnet, number)


def named(spec: ClusterSpec) -> list[str]:
    """Return the ids of the networks and further subnets of the user that a spec names."""
    return [*([spec.network.existing.network] if spec.network.existing else []), *spec.api.virtual_network_rules]


def is_of_no_cluster(urn: str) -> bool:
    """Return whether a resource of a sandbox is in no cluster's state: of the user's network, or of `mullion image`."""
    return is_yours(urn) or urn.split("::")[1] == PROJECT


def is_yours(urn: str) -> bool:
    """Return whether a resource of a sandbox belongs to the user's network."""
    return urn.startswith(OWNER)


def _aws(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork, zone: str) -> None:
    from sandbox.aws import existing_endpoints
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
        existing_endpoints.create(maker.make, maker.provider.place.region, spec, (vpc, tables["private"], machines))
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


def _free(whole: IPv4Network, existing: ExistingNetwork, count: int) -> list[IPv4Network]:
    """Return ranges in the network that no subnet of machines has; empty if there are fewer than `count`."""
    taken = [subnet.range for subnet in existing.subnets]
    free = [each for each in whole.subnets(new_prefix=_EDGE_PREFIX) if not any(map(each.overlaps, taken))]
    return free[:count] if len(free) >= count else []


def _azure(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork, zone: str) -> None:
    from sandbox.azure.names import NETWORK, SUBNET
    from sandbox.azure.networks import RUNNERS

    _, _, subscription, _, group, *_, name = existing.network.split("/")
    maker.provider.place = replace(maker.provider.place, account=subscription)
    location = maker.provider.place.region
    _azure_group(maker, group)
    here = {"resourceGroupName": group, "location": location}
    inside = any(each.startswith(f"{existing.network}/") for each in spec.api.virtual_network_rules)
    space = {"addressPrefixes": [str(spec.network.nodes), *([str(RUNNERS)] if inside else [])]}
    maker.make(NETWORK.token, "network", **here, virtualNetworkName=name, addressSpace=space)
    if spec.network.egress is Egress.NONE:
        out: dict[str, Any] = {}
        _azure_zones(maker, existing)
    else:
        out = {"natGateway": {"id": _azure_nat(maker, here)}}
        out["serviceEndpoints"] = [{"service": "Microsoft.Storage"}, {"service": "Microsoft.KeyVault"}]
    for subnet in existing.subnets:
        maker.make(
            SUBNET.token,
            subnet.id,
            resourceGroupName=group,
            virtualNetworkName=name,
            subnetName=subnet.id.rpartition("/")[2],
            addressPrefix=str(subnet.range),
            defaultOutboundAccess=False,
            **out,
        )
    if existing.bastion:
        _bastion(maker, existing.bastion, location)


def _azure_group(maker: _Maker, group: str) -> None:
    """Create a resource group of the provider's subscription, unless it exists."""
    from sandbox.azure.names import RESOURCE_GROUP

    place = maker.provider.place
    if maker.cloud_state.find(RESOURCE_GROUP, f"/subscriptions/{place.account}/resourceGroups/{group}") is None:
        maker.make(RESOURCE_GROUP, group, resourceGroupName=group, location=place.region)


def _azure_nat(maker: _Maker, here: dict[str, str]) -> str:
    """Create a NAT gateway with its address; return its id. here: resource group and location."""
    from sandbox.azure.names import ADDRESS, NAT

    standard, static = {"sku": {"name": "Standard"}}, {"publicIPAllocationMethod": "Static"}
    address = maker.make(ADDRESS.token, "nat", **here, **standard, **static, publicIpAddressName="nat")
    return maker.make(NAT.token, "nat", **here, **standard, natGatewayName="nat", publicIpAddresses=[{"id": address}])


def _azure_zones(maker: _Maker, existing: ExistingNetwork) -> None:
    """Create the private zones of the stores with the links that the stack file names, each in its subscription."""
    from sandbox.azure.names import LINK, ZONE

    place = maker.provider.place
    for link in existing.service_zones:
        _, _, subscription, _, group, _, _, _, zone, _, name = link.split("/")
        maker.provider.place = replace(place, account=subscription)
        _azure_group(maker, group)
        where = {"resourceGroupName": group, "location": "global", "privateZoneName": zone}
        maker.make(ZONE.token, zone, **where)
        to = {"virtualNetwork": {"id": existing.network}, "registrationEnabled": False}
        maker.make(LINK.token, zone, **where, **to, virtualNetworkLinkName=name)
    maker.provider.place = place


def _azure_runners(maker: _Maker, id: str, number: int) -> None:
    """Create the subnet of a virtual network rule, and its resource group and network if they do not exist."""
    from sandbox.azure.names import NETWORK, SUBNET
    from sandbox.azure.networks import RUNNERS

    _, _, subscription, _, group, _, _, _, network, _, name = id.split("/")
    location = maker.provider.place.region
    maker.provider.place = replace(maker.provider.place, account=subscription)
    _azure_group(maker, group)
    here = {"resourceGroupName": group, "virtualNetworkName": network}
    if maker.cloud_state.find(NETWORK.token, id.partition("/subnets/")[0]) is None:
        space = {"addressPrefixes": [str(RUNNERS)]}
        maker.make(NETWORK.token, network, **here, location=location, addressSpace=space)
    services, cidr = [{"service": "Microsoft.Storage"}], list(RUNNERS.subnets(new_prefix=24))[number]
    maker.make(SUBNET.token, id, **here, subnetName=name, addressPrefix=str(cidr), serviceEndpoints=services)


def _bastion(maker: _Maker, bastion: ExistingBastion, location: str) -> None:
    """Create a Bastion host in a hub network of its own, which the user has peered with the cluster's."""
    from sandbox.azure.bastion_rules import NAME
    from sandbox.azure.names import ADDRESS, BASTION, NETWORK, SUBNET

    _, _, subscription, _, group, *_, name = bastion.id.split("/")
    maker.provider.place = replace(maker.provider.place, account=subscription)
    _azure_group(maker, group)
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
    closed = spec.network.egress is Egress.NONE
    own = {"autoCreateSubnetworks": False, "deleteDefaultRoutesOnCreate": closed, "mtu": spec.cloud.facts.mtu}
    network = maker.make(NETWORK, "network", project=project, name=name, **own)
    region = existing.subnets[0].id.split("/")[3]
    for subnet in existing.subnets:
        short = subnet.id.rpartition("/")[2]
        here = {"project": project, "region": region, "network": network, "privateIpGoogleAccess": closed}
        maker.make(SUBNETWORK, short, **here, name=short, ipCidrRange=str(subnet.range))
    google = {f"google-{index}": str(each) for index, each in enumerate(spec.cloud.facts.private_ranges)}
    for route, to in (google if closed else {"internet": _ANYWHERE}).items():
        way = {"destRange": to, "nextHopGateway": "default-internet-gateway"}
        maker.make(ROUTE, route, project=project, network=network, name=f"{name}-{route}", **way)
    if closed:
        _google_zones(maker, spec, existing)
        return
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


def _google_zones(maker: _Maker, spec: ClusterSpec, existing: ExistingNetwork) -> None:
    """Create the private zones that the stack file names: the first is of the first domain of Google's, and so on."""
    from sandbox.gcp.dns import RECORD, ZONE

    for id, domain in zip(existing.service_zones, google_domains(spec), strict=False):
        _, project, _, name = id.split("/")
        seen = {"networks": [{"networkUrl": existing.network}]}
        own = {"name": name, "dnsName": f"{domain}.", "visibility": "private", "privateVisibilityConfig": seen}
        maker.make(ZONE, name, project=project, **own)
        for record, kind, values in google_records(domain).values():
            row = {"name": record, "type": kind, "ttl": 300, "rrdatas": values}
            maker.make(RECORD, f"{name}-{kind}", project=project, managedZone=name, **row)


_MAKERS: dict[Cloud, Callable[[_Maker, ClusterSpec, ExistingNetwork, str], None]] = {
    Cloud.AWS: _aws,
    Cloud.AZURE: _azure,
    Cloud.GCP: _gcp,
}
