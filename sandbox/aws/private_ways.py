"""How machines reach AWS's services without a route to the internet: by VPC endpoints.

Gateway endpoints act in their route tables, interface endpoints in the whole VPC, by private DNS (AWS PrivateLink
guide, "Gateway endpoints", "Access an AWS service using an interface VPC endpoint"), and in another VPC by a private
hosted zone that it sees and a route. They carry the requests of every
machine that can use them, also with another way out, and their policies bound what may pass ("Control access to VPC
endpoints using endpoint policies").
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, ip_address, ip_network

from sandbox.aws import policies
from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import ASSOCIATION, GROUP, INGRESS, INSTANCE, NAT, ROUTE, SUBNET, TABLE, VPC
from sandbox.aws.route53 import RECORD, ZONE
from sandbox.aws.s3 import BUCKET
from sandbox.cloud_state import CloudState
from sandbox.records import Record

HTTPS = 443
ANYWHERE, HALVES = "0.0.0.0/0", ("0.0.0.0/1", "128.0.0.0/1")
HOST = re.compile(r"(?:.+\.)?(?P<service>s3|secretsmanager|ec2)\.[a-z0-9-]+\.amazonaws\.com")
"""Host names of the services that machines ask."""


def tables(cloud_state: CloudState, subnet: str) -> list[str]:
    """Return the ids of the route tables of a subnet."""
    return [one.inputs["routeTableId"] for one in cloud_state.referrers(SUBNET, subnet) if one.type == ASSOCIATION]


def default_routes(cloud_state: CloudState, subnet: str) -> list[dict[str, str]]:
    """Return the inputs of a subnet's routes to 0.0.0.0/0, or to both halves of it."""
    known = {route.get("destinationCidrBlock"): route for route in _routes(cloud_state, subnet)}
    halves = [known[each] for each in HALVES if each in known]
    return [known[ANYWHERE]] if ANYWHERE in known else halves if len(halves) == len(HALVES) else []


def _routes(cloud_state: CloudState, subnet: str) -> list[dict[str, str]]:
    """Return the inputs of a subnet's routes, of resources and inline."""
    ids = tables(cloud_state, subnet)
    found = [one.inputs for id in ids for one in cloud_state.referrers(TABLE, id) if one.type == ROUTE]
    for table in filter(None, (cloud_state.find(TABLE, id) for id in ids)):
        found += [{**row, "destinationCidrBlock": row.get("cidrBlock")} for row in table.inputs.get("routes") or []]
    return found


def missing(cloud_state: CloudState, machine: Record, service: str) -> str:
    """Return why no endpoint leads a machine to a service; empty if one does."""
    vpc, named = _endpoints(cloud_state, machine, service)
    if not named:
        return f"{vpc} has no endpoint of {service} for its subnet"
    closed = [one.id for one in named if not _admits(cloud_state, one, machine)]
    return f"no security group of {', '.join(closed)} ({service}) lets it in" if len(closed) == len(named) else ""


def source(cloud_state: CloudState, machine: Record, action: str, resource: str = "") -> dict[str, str]:
    """Return the keys of conditions on where a machine's request comes from: an endpoint adds the VPC; without one
    it comes from a public address, of a NAT gateway or of the machine (IAM user guide, "AWS global condition context
    keys", aws:SourceVpc, aws:SourceIp).
    """
    found = _carrying(cloud_state, machine, action, resource)
    if found:
        return {"aws:SourceVpc": found[0].inputs["vpcId"]}
    address = _public_address(cloud_state, machine)
    return {"aws:SourceIp": address} if address else {}


def _carrying(cloud_state: CloudState, machine: Record, action: str, resource: str) -> list[Record]:
    """Return the endpoints that carry a request; none to a bucket of another region (AWS PrivateLink guide, "Gateway
    endpoints for Amazon S3").
    """
    bucket = cloud_state.find(BUCKET, bucket_of(resource)) if action.startswith("s3:") else None
    away = bucket is not None and bucket.region != machine.region
    return [] if away else _endpoints(cloud_state, machine, action.partition(":")[0])[1]


def bucket_of(resource: str) -> str:
    """Return the bucket in the ARN of a bucket or object."""
    return resource.removeprefix("arn:aws:s3:::").partition("/")[0]


def _public_address(cloud_state: CloudState, machine: Record) -> str:
    """Return the address that the internet sees; empty if the machine has no way there."""
    for route in default_routes(cloud_state, machine.inputs.get("subnetId", "")):
        nat = cloud_state.find(NAT, route.get("natGatewayId") or "")
        return (nat or machine).outputs.get("publicIp") or ""
    return ""


def refused(
    cloud_state: CloudState, machine: Record, action: str, resource: str, principal: str, context: Mapping[str, str]
) -> str:
    """Return why policies of the endpoints that carry a machine's request deny it; empty if none does.

    An endpoint without a policy lets everything pass.
    """
    account = accounts(cloud_state, action, resource, principal)
    for one in _carrying(cloud_state, machine, action, resource):
        policy = one.inputs.get("policy")
        if policy and (why := policies.refused([policy], action, resource, principal, {**context, **account})):
            return f"{one.id}: {why}"
    return ""


def accounts(cloud_state: CloudState, action: str, resource: str, principal: str) -> dict[str, str]:
    """Return the keys of the caller's and the resource's account. A bucket that the cloud state lacks is another's."""
    found = {"aws:PrincipalAccount": principal.split(":")[4]}
    bucket = bucket_of(resource)
    if not action.startswith("s3:") or cloud_state.find(BUCKET, bucket):
        found["aws:ResourceAccount"] = found["aws:PrincipalAccount"]
    return found


def _endpoints(cloud_state: CloudState, machine: Record, service: str) -> tuple[str, list[Record]]:
    """Return a machine's VPC, and the endpoints to which it sends requests to a service: that of its route table,
    those with private DNS, or those of another VPC.
    """
    subnet = cloud_state.find(SUBNET, machine.inputs.get("subnetId", ""))
    vpc = subnet.inputs["vpcId"] if subnet else ""
    found = [
        one
        for one in cloud_state.resources(ENDPOINT)
        if one.inputs["vpcId"] == vpc and one.inputs.get("serviceName", "").endswith(f".{service}")
    ]
    own = set(tables(cloud_state, machine.inputs.get("subnetId", "")))
    routed = [one for one in found if own & {*(one.inputs.get("routeTableIds") or ())} and not _is_interface(one)]
    named = [one for one in found if _is_interface(one) and one.inputs.get("privateDnsEnabled")]
    return vpc, _central(cloud_state, machine, vpc, service) or routed or named


def _central(cloud_state: CloudState, machine: Record, vpc: str, service: str) -> list[Record]:
    """Return the endpoints of other VPCs to which a private hosted zone that the VPC sees, and a route, lead.

    Records of such a zone are aliases of the endpoint's name, which begins with its id.
    """
    begin = f"{'.'.join(reversed(service.split('.')))}."
    zones = [
        zone
        for zone in cloud_state.resources(ZONE)
        if zone.inputs["name"].startswith(begin)
        and zone.inputs["name"].rstrip(".").endswith(".amazonaws.com")
        and vpc in (each["vpcId"] for each in zone.inputs.get("vpcs") or [])
    ]
    records = [one.inputs for zone in zones for one in cloud_state.referrers(ZONE, zone.id) if one.type == RECORD]
    names = [each["name"] for record in records for each in record.get("aliases") or []]
    return [
        one
        for one in cloud_state.resources(ENDPOINT)
        if any(name.startswith(one.id) for name in names) and _leads_to(cloud_state, machine, one.inputs["vpcId"])
    ]


def _leads_to(cloud_state: CloudState, machine: Record, vpc: str) -> bool:
    """Return whether a route of a machine's subnet leads to the whole of another VPC."""
    found = cloud_state.find(VPC, vpc)
    return found is not None and any(
        IPv4Network(found.inputs["cidrBlock"]).subnet_of(IPv4Network(route["destinationCidrBlock"]))
        for route in _routes(cloud_state, machine.inputs.get("subnetId", ""))
        if route.get("destinationCidrBlock") and (route.get("transitGatewayId") or route.get("vpcPeeringConnectionId"))
    )


def is_reached(cloud_state: CloudState, host: str) -> bool:
    """Return whether every machine has a way to the service with this host name: a default route, or an endpoint."""
    match = HOST.fullmatch(host)
    return match is None or not any(
        missing(cloud_state, machine, match["service"])
        for machine in cloud_state.resources(INSTANCE)
        if not default_routes(cloud_state, machine.inputs.get("subnetId", ""))
    )


def _is_interface(endpoint: Record) -> bool:
    return endpoint.inputs.get("vpcEndpointType") == "Interface"


def _admits(cloud_state: CloudState, endpoint: Record, machine: Record) -> bool:
    """Return whether the endpoint is a gateway, or a security group of it admits https from the machine."""
    if not _is_interface(endpoint):
        return True
    groups, address = machine.inputs.get("vpcSecurityGroupIds") or [], ip_address(machine.outputs["privateIp"])
    rules = [
        rule.inputs
        for group in endpoint.inputs.get("securityGroupIds") or []
        for rule in cloud_state.referrers(GROUP, group, "vanish")
        if rule.type == INGRESS
    ]
    for rule in rules:
        peer = rule.get("cidrIpv4")
        known = rule.get("referencedSecurityGroupId") in groups or (peer and address in ip_network(peer))
        ports = rule["ipProtocol"] == "-1" or rule["fromPort"] <= HTTPS <= rule["toPort"]
        if known and ports:
            return True
    return False
