"""How machines reach AWS's services without a route to the internet: by VPC endpoints.

Gateway endpoints act in their route tables, interface endpoints in the whole VPC, by private DNS (AWS PrivateLink
guide, "Gateway endpoints", "Access an AWS service using an interface VPC endpoint").
"""

import re
from ipaddress import ip_address, ip_network

from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import ASSOCIATION, GROUP, INGRESS, INSTANCE, ROUTE, SUBNET, TABLE
from sandbox.cloud_state import CloudState
from sandbox.records import Record

HTTPS = 443
ANYWHERE = "0.0.0.0/0"
HOST = re.compile(r"(?:.+\.)?(?P<service>s3|secretsmanager|ec2)\.[a-z0-9-]+\.amazonaws\.com")
"""Host names of the services that machines ask."""


def tables(cloud_state: CloudState, subnet: str) -> list[str]:
    """Return the ids of the route tables of a subnet."""
    return [one.inputs["routeTableId"] for one in cloud_state.referrers(SUBNET, subnet) if one.type == ASSOCIATION]


def default_routes(cloud_state: CloudState, subnet: str) -> list[dict[str, str]]:
    """Return the inputs of a subnet's routes to 0.0.0.0/0."""
    ids = tables(cloud_state, subnet)
    found = [one.inputs for id in ids for one in cloud_state.referrers(TABLE, id) if one.type == ROUTE]
    for table in filter(None, (cloud_state.find(TABLE, id) for id in ids)):
        found += [{**row, "destinationCidrBlock": row.get("cidrBlock")} for row in table.inputs.get("routes") or []]
    return [route for route in found if route.get("destinationCidrBlock") == ANYWHERE]


def missing(cloud_state: CloudState, machine: Record, service: str) -> str:
    """Return why no endpoint leads a machine to a service; empty if one does."""
    subnet = cloud_state.find(SUBNET, machine.inputs.get("subnetId", ""))
    vpc = subnet.inputs["vpcId"] if subnet else ""
    found = [
        one
        for one in cloud_state.resources(ENDPOINT)
        if one.inputs["vpcId"] == vpc and one.inputs.get("serviceName", "").endswith(f".{service}")
    ]
    own = set(tables(cloud_state, machine.inputs.get("subnetId", "")))
    if any(own & {*(one.inputs.get("routeTableIds") or ())} for one in found if not _is_interface(one)):
        return ""
    named = [one for one in found if _is_interface(one) and one.inputs.get("privateDnsEnabled")]
    if not named:
        return f"{vpc} has no endpoint of {service} for its subnet"
    closed = [one.id for one in named if not _admits(cloud_state, one, machine)]
    return f"no security group of {', '.join(closed)} ({service}) lets it in" if len(closed) == len(named) else ""


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
    """Return whether a security group of the endpoint admits https from the machine."""
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
