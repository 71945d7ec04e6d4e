"""Reads of VPCs, subnets, route tables and hosted zones, as the provider's functions return them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import ASSOCIATION, ROUTE, SUBNET, TABLE, VPC
from sandbox.aws.route53 import RECORD, ZONE
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState, Record

_LOCAL = "local"
"""Target of the route to the VPC's own range."""
_ROUTE_MEMBERS = (
    *("carrierGatewayId", "coreNetworkArn", "destinationPrefixListId", "egressOnlyGatewayId", "gatewayId"),
    *("instanceId", "ipv6CidrBlock", "localGatewayId", "natGatewayId", "networkInterfaceId", "odbNetworkArn"),
    *("transitGatewayId", "vpcEndpointId", "vpcPeeringConnectionId"),
)


def _found(cloud_state: CloudState, place: Place, type: str, id: str, prefix: str, what: str) -> Record:
    """Return a resource of the region. Raises Refusal for a malformed id, and if there is none."""
    if not re.fullmatch(rf"{prefix}-([0-9a-f]{{8}}|[0-9a-f]{{17}})", id):
        code = {"vpc": "InvalidVpcID", "subnet": "InvalidSubnetID", "rtb": "InvalidRouteTableID"}[prefix]
        raise Refusal(f"{code}.Malformed", f'Invalid id: "{id}" (expecting "{prefix}-...")')
    found = cloud_state.find(type, id)
    if found is None or found.region != place.region:
        # terraform-provider-aws, tfresource.SingularDataSourceFindError
        raise Refusal("NotFound", f"no matching {what} found")
    return found


def _only(arguments: Mapping[str, Any], *known: str) -> None:
    if more := sorted(set(arguments) - {*known, "region"}):
        raise Refusal("InvalidArgument", f"the sandbox supports {', '.join(known)}, not {', '.join(more)}")


def vpc(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getVpc by its id."""
    _only(arguments, "id")
    found = _found(cloud_state, place, VPC, arguments["id"], "vpc", "EC2 VPC")
    names = (
        "arn",
        "cidrBlock",
        "enableDnsSupport",
        "enableDnsHostnames",
        "instanceTenancy",
        "ownerId",
        "dhcpOptionsId",
    )
    known = {name: found.outputs.get(name) for name in (*names, "mainRouteTableId")}
    association = {"associationId": f"vpc-cidr-assoc-{found.id[4:]}", "state": "associated"}
    blocks = [{**association, "cidrBlock": found.inputs["cidrBlock"]}]
    return known | {
        "id": found.id,
        "cidrBlockAssociations": blocks,
        "default": False,
        "region": place.region,
        "state": "available",
        "tags": found.tags,
    }


def dhcp_options(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getVpcDhcpOptions by the id: those that VPCs have from the beginning; the sandbox knows no others."""
    _only(arguments, "dhcpOptionsId")
    id = arguments["dhcpOptionsId"]
    networks = [one for one in cloud_state.resources(VPC) if one.region == place.region]
    if id not in {one.outputs["dhcpOptionsId"] for one in networks}:
        raise Refusal("InvalidDhcpOptionID.NotFound", f"The dhcpOption ID '{id}' does not exist")
    servers = ["AmazonProvidedDNS"]
    return {"id": id, "dhcpOptionsId": id, "domainNameServers": servers, "region": place.region, "tags": {}}


def subnet(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getSubnet by its id."""
    _only(arguments, "id")
    found = _found(cloud_state, place, SUBNET, arguments["id"], "subnet", "EC2 Subnet")
    names = ("arn", "availabilityZone", "availabilityZoneId", "cidrBlock", "mapPublicIpOnLaunch", "ownerId", "vpcId")
    known = {name: found.outputs.get(name) for name in names}
    return known | {"id": found.id, "region": place.region, "state": "available", "tags": found.tags}


def route_tables(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getRouteTables: ids by filters; none if no table matches."""
    _only(arguments, "filters", "vpcId")
    tests = {each["name"]: each["values"] for each in arguments.get("filters") or []}
    if wrong := sorted(set(tests) - {"association.subnet-id", "association.main", "vpc-id"}):
        raise Refusal("InvalidParameterValue", f"The filter '{wrong[0]}' is invalid")
    networks = [one for one in cloud_state.resources(VPC) if one.region == place.region]
    wanted = [arguments["vpcId"]] if arguments.get("vpcId") else tests.get("vpc-id", [one.id for one in networks])
    if "association.main" in tests:
        main = [one.outputs["mainRouteTableId"] for one in networks if one.id in wanted]
        return {
            "id": place.region,
            "ids": main if tests["association.main"] == ["true"] else [],
            "region": place.region,
        }
    tables = [one for one in cloud_state.resources(TABLE) if one.inputs["vpcId"] in wanted]
    if "association.subnet-id" in tests:
        joined = [one.inputs for one in cloud_state.resources(ASSOCIATION)]
        ids = {one["routeTableId"] for one in joined if one.get("subnetId") in tests["association.subnet-id"]}
        tables = [one for one in tables if one.id in ids]
    return {"id": place.region, "ids": [one.id for one in tables], "region": place.region}


def route_table(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getRouteTable by its id. A VPC's main table has the local route alone."""
    _only(arguments, "routeTableId")
    id = arguments["routeTableId"]
    network = next((one for one in cloud_state.resources(VPC) if one.outputs["mainRouteTableId"] == id), None)
    routes: list[Record] = []
    if network is None:
        table = _found(cloud_state, place, TABLE, id, "rtb", "EC2 Route Table")
        network = cloud_state.find(VPC, table.inputs["vpcId"])
        routes = [one for one in cloud_state.referrers(TABLE, id) if one.type == ROUTE]
    local = {"cidrBlock": network.inputs["cidrBlock"], "gatewayId": _LOCAL} if network else {}
    rows = [
        local,
        *(
            {"cidrBlock": one.inputs.get("destinationCidrBlock", "")}
            | {name: one.inputs.get(name) for name in _ROUTE_MEMBERS}
            for one in routes
        ),
    ]
    shown = [{name: row.get(name) or "" for name in ("cidrBlock", *_ROUTE_MEMBERS)} for row in rows]
    vpc_id = network.id if network else ""
    return {"id": id, "routeTableId": id, "routes": shown, "vpcId": vpc_id, "region": place.region}


def endpoint(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getVpcEndpoint by network, service, state and type."""
    _only(arguments, "vpcId", "serviceName", "state", "filters")
    tests = {each["name"]: each["values"] for each in arguments.get("filters") or []}
    if wrong := sorted(set(tests) - {"vpc-endpoint-type"}):
        raise Refusal("InvalidParameterValue", f"The filter '{wrong[0]}' is invalid")
    wanted = {name: arguments[name] for name in ("vpcId", "serviceName", "state") if name in arguments}
    found = [
        one
        for one in cloud_state.resources(ENDPOINT)
        if one.region == place.region
        and all(one.outputs.get(name) == value for name, value in wanted.items())
        and one.outputs.get("vpcEndpointType") in tests.get("vpc-endpoint-type", [one.outputs.get("vpcEndpointType")])
    ]
    if len(found) != 1:  # terraform-provider-aws, tfresource.SingularDataSourceFindError
        several = "multiple EC2 VPC Endpoints matched; use additional constraints to reduce matches to a single one"
        raise Refusal("NotFound", several if found else "no matching EC2 VPC Endpoint found")
    names = ("privateDnsEnabled", "routeTableIds", "securityGroupIds", "serviceName", "state", "subnetIds", "vpcId")
    known = {name: found[0].outputs.get(name) for name in (*names, "arn", "ownerId", "vpcEndpointType")}
    return known | {"id": found[0].id, "region": place.region, "tags": found[0].tags}


def _zone(cloud_state: CloudState, id: str) -> Record:
    if (found := cloud_state.find(ZONE, id)) is None:
        raise Refusal("NoSuchHostedZone", f"No hosted zone found with ID: {id}")
    return found


def _named_zone(cloud_state: CloudState, arguments: dict[str, Any]) -> Record:
    """Return the only private zone with a name, and with a VPC if one is asked. Raises Refusal if there is none."""
    if not arguments.get("privateZone"):
        raise Refusal("InvalidArgument", "the sandbox finds private zones only by their name")
    found = [
        one
        for one in cloud_state.resources(ZONE)
        if one.inputs["name"].rstrip(".") == arguments["name"].rstrip(".")
        and (seen := [each["vpcId"] for each in one.inputs.get("vpcs") or []])
        and arguments.get("vpcId", seen[0]) in seen
    ]
    if len(found) != 1:  # terraform-provider-aws, tfresource.SingularDataSourceFindError
        several = "multiple Route 53 Hosted Zones matched; use additional constraints to reduce matches to a single one"
        raise Refusal("NotFound", several if found else "no matching Route 53 Hosted Zone found")
    return found[0]


def records(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """route53.getRecords of a zone, with the names as Route 53 returns them."""
    _only(arguments, "zoneId")
    found = _zone(cloud_state, arguments["zoneId"])
    rows = [one for one in cloud_state.referrers(ZONE, found.id) if one.type == RECORD]
    names = [str(one.outputs["fqdn"]).replace("*", r"\052") for one in rows]
    shown = [{"name": f"{name}.", "type": one.inputs["type"]} for name, one in zip(names, rows, strict=True)]
    return {"zoneId": found.id, "resourceRecordSets": shown}


def zone(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """route53.getZone by its id, or a private zone by its name and a VPC that sees it."""
    _only(arguments, "zoneId", "name", "privateZone", "vpcId")
    found = _zone(cloud_state, arguments["zoneId"]) if "zoneId" in arguments else _named_zone(cloud_state, arguments)
    return {
        "id": found.id,
        "zoneId": found.id,
        "name": found.inputs["name"],
        "privateZone": bool(found.inputs.get("vpcs")),
        "comment": found.inputs.get("comment", ""),
        "tags": found.tags,
    }


READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "aws:ec2/getVpc:getVpc": vpc,
    "aws:ec2/getVpcDhcpOptions:getVpcDhcpOptions": dhcp_options,
    "aws:ec2/getSubnet:getSubnet": subnet,
    "aws:ec2/getVpcEndpoint:getVpcEndpoint": endpoint,
    "aws:ec2/getRouteTables:getRouteTables": route_tables,
    "aws:ec2/getRouteTable:getRouteTable": route_table,
    "aws:route53/getRecords:getRecords": records,
    "aws:route53/getZone:getZone": zone,
}
