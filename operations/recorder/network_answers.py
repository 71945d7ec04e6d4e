"""Answers to lookups of an existing network: they agree with the stack file."""

from collections.abc import Callable, Mapping
from typing import Any

from components.naming import zone_name
from components.spec.defaults import enclosing_range
from components.topology.service_zones import GOOGLE_HOSTS, aws_record, google_records
from operations.recorder import cloud_answers

Answers = Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]]


def answers(stack: str, cluster: Mapping[str, Any]) -> Answers:
    """Return functions of region and arguments, by token; empty if the stack names no existing network."""
    network: Mapping[str, Any] = cluster.get("network") or {}
    existing: Mapping[str, Any] = network.get("existing") or {}
    readable = all(
        isinstance(each, Mapping) and {"id", "range"} <= each.keys() for each in existing.get("subnets") or ()
    )
    if not existing.get("subnets") or not readable:
        return {}
    whole = str(network.get("nodes") or enclosing_range(existing))
    closed = network.get("egress") == "none"
    return {
        **_aws(stack, network, existing, whole),
        **_azure(existing, whole, closed=closed),
        **_gcp(existing, closed=closed),
    }


def _aws(stack: str, network: Mapping[str, Any], existing: Mapping[str, Any], whole: str) -> Answers:
    listed, public = existing["subnets"], network.get("egress") == "public"
    owner = "111111111111" if existing.get("private_zone") else cloud_answers.ACCOUNT
    dns = {"enableDnsSupport": True, "enableDnsHostnames": True, "dhcpOptionsId": "dopt-0123456789abcdef0"}

    def subnet(region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        index = next((place for place, each in enumerate(listed) if each["id"] == asked["id"]), None)
        if index is None:
            return {"id": asked["id"], "vpcId": existing["network"]}
        zones = network.get("zone_names") or [f"{region}{letter}" for letter in "abc"]
        found = {"cidrBlock": str(listed[index]["range"]), "availabilityZone": zones[index]}
        return {"id": asked["id"], "vpcId": existing["network"], **found}

    def table(_: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        own = asked["routeTableId"].removeprefix("rtb-") in (each["id"] for each in listed)
        if own and network.get("egress") == "none":
            hub = {"cidrBlock": "192.168.0.0/16", "transitGatewayId": "tgw-0123456789abcdef0"}
            return {"routeTableId": asked["routeTableId"], "routes": [hub]}
        target = {"natGatewayId": "nat-0123456789abcdef0"} if own and not public else {"gatewayId": "igw-01234567"}
        return {"routes": [{"cidrBlock": "0.0.0.0/0", **target}]}

    def endpoint(_: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        tables = [f"rtb-{each['id']}" for each in listed]
        return {"id": "vpce-0123456789abcdef0", "privateDnsEnabled": True, "routeTableIds": tables}

    def zone(_: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        own = zone_name(stack)
        id_ = existing.get("private_zone") if asked.get("name") == own else asked.get("name") or asked["zoneId"]
        return {"name": own, "privateZone": True, "zoneId": id_}

    return {
        "aws:ec2/getVpc:getVpc": lambda _, asked: {"id": asked["id"], "cidrBlock": whole, "ownerId": owner, **dns},
        "aws:ec2/getVpcDhcpOptions:getVpcDhcpOptions": lambda *_: {"domainNameServers": ["AmazonProvidedDNS"]},
        "aws:ec2/getSubnet:getSubnet": subnet,
        "aws:ec2/getRouteTables:getRouteTables": lambda _, asked: {"ids": [f"rtb-{asked['filters'][0]['values'][0]}"]},
        "aws:ec2/getRouteTable:getRouteTable": table,
        "aws:ec2/getVpcEndpoint:getVpcEndpoint": endpoint,
        "aws:route53/getRecords:getRecords": lambda _, asked: {
            "resourceRecordSets": [{"name": aws_record(asked["zoneId"]), "type": "A"}]
        },
        "aws:route53/getZone:getZone": zone,
    }


def _azure(existing: Mapping[str, Any], whole: str, *, closed: bool) -> Answers:
    parts = [*str(existing["network"]).split("/"), "", "", ""]
    ranges = {each["id"].rpartition("/")[2]: str(each["range"]) for each in existing["subnets"]}
    services = [{"service": f"Microsoft.{name}"} for name in ("Storage", "KeyVault")]
    client = cloud_answers.INVOKES["azure-native:authorization:getClientConfig"]
    return {
        "azure-native:authorization:getClientConfig": lambda *asked: {**client(*asked), "subscriptionId": parts[2]},
        "azure-native:network:getBastionHost": lambda *_: {"sku": {"name": "Standard"}, "enableTunneling": True},
        "azure-native:network:getVirtualNetwork": lambda region, _: {
            "addressSpace": {"addressPrefixes": [whole]},
            "location": region,
        },
        "azure-native:network:getSubnet": lambda _, asked: {
            "addressPrefix": ranges[asked["subnetName"]],
            "defaultOutboundAccess": False if closed else None,
            "serviceEndpoints": services,
        },
        "azure-native:privatedns:getVirtualNetworkLink": lambda *_: {
            "virtualNetwork": {"id": existing["network"]},
            "virtualNetworkLinkState": "Completed",
        },
    }


def _gcp(existing: Mapping[str, Any], *, closed: bool) -> Answers:
    """closed: without a way to the internet. The first zone is of the first domain of Google's, and so on."""
    link = f"https://www.googleapis.com/compute/v1/{existing['network']}"
    ranges = {each["id"].rpartition("/")[2]: str(each["range"]) for each in existing["subnets"]}
    return {
        "gcp:compute/getNetwork:getNetwork": lambda *_: {"selfLink": link},
        "gcp:compute/getSubnetwork:getSubnetwork": lambda _, asked: {
            "network": link,
            "ipCidrRange": ranges[asked["name"]],
            "privateIpGoogleAccess": closed,
        },
        "gcp:compute/getRouters:getRouters": lambda *_: {"routers": [{"network": link, "nats": [{"name": "nat"}]}]},
        "gcp:dns/getManagedZone:getManagedZone": lambda _, asked: {
            "dnsName": f"{_domain(existing, asked['name'])}.",
            "visibility": "private",
        },
        "gcp:dns/getRecordSets:getRecordSets": lambda _, asked: {
            "rrsets": [
                {"name": name, "type": kind, "rrdatas": values}
                for name, kind, values in google_records(_domain(existing, asked["managedZone"])).values()
            ]
        },
    }


def _domain(existing: Mapping[str, Any], zone: str) -> str:
    """Return the domain of a zone of the user, by its place in the stack file."""
    names = [str(each).rpartition("/")[2] for each in existing.get("service_zones") or ()]
    return [*GOOGLE_HOSTS][names.index(zone) % len(GOOGLE_HOSTS)]
