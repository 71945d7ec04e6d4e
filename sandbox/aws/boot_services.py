"""Network of booted machines on AWS: security groups, Route 53, network load balancers.

A network load balancer without a healthy target forwards to all targets (Elastic Load Balancing guide, "Health checks
for your target groups"). The resolver is the third address of the network (VPC user guide, "DNS attributes").
"""

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from sandbox.aws import private_ways
from sandbox.aws.boot_obstacles import MACHINES
from sandbox.aws.network import BALANCER, EGRESS, GROUP, INGRESS, INSTANCE
from sandbox.aws.targets import LISTENER, TARGETS
from sandbox.boot.balancers import Forwarder
from sandbox.boot.cloud_services import Ask, CloudServices
from sandbox.boot.firewalls import NUMBERS, Permission
from sandbox.cloud_state import CloudState
from sandbox.records import Record

ATTACHMENT, RECORD = "aws:lb/targetGroupAttachment:TargetGroupAttachment", "aws:route53/record:Record"


def _user_data(ask: Ask) -> bytes:
    token = ask("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}).decode()
    return ask("GET", "/latest/user-data", {"X-aws-ec2-metadata-token": token})


def addresses(cloud_state: CloudState, name: str) -> list[str] | None:
    """Return the addresses of a name in the private zones, or of a load balancer."""
    for balancer in cloud_state.resources(BALANCER):
        if balancer.outputs.get("dnsName", "").lower() == name:
            return private_addresses(balancer)
    for record in cloud_state.resources(RECORD):
        if record.inputs.get("type") == "A" and record.outputs["fqdn"] == name:
            aliases = [each["name"].rstrip(".").lower() for each in record.inputs.get("aliases") or []]
            found = [addresses(cloud_state, alias) or [] for alias in aliases]
            return [*(record.inputs.get("records") or []), *(address for each in found for address in each)]
    return None


def private_addresses(balancer: Record) -> list[str]:
    """Return the planned addresses of an internal load balancer; public ones have none in the lab network."""
    mappings = balancer.inputs.get("subnetMappings") or []
    return [each["privateIpv4Address"] for each in mappings if each.get("privateIpv4Address")]


def permissions(cloud_state: CloudState, machine: Record) -> list[Permission]:
    """Return the connections that a machine's security groups allow, in and out."""
    groups = machine.inputs.get("vpcSecurityGroupIds") or []
    rows = (
        (type == INGRESS, rule.inputs)
        for group in groups
        for type in (INGRESS, EGRESS)
        for rule in cloud_state.resources(type)
        if rule.inputs["securityGroupId"] == group
    )
    found = [_permission(cloud_state, ingress, rule) for ingress, rule in rows]
    return [*found, *_inline(cloud_state, groups)]


def _inline(cloud_state: CloudState, groups: list[str]) -> Iterator[Permission]:
    """Return rules written inline in security groups."""
    for record in filter(None, (cloud_state.find(GROUP, each) for each in groups)):
        for side in ("ingress", "egress"):
            for rule in record.inputs.get(side) or []:
                protocol = NUMBERS.get(str(rule["protocol"]), str(rule["protocol"]))
                peers = tuple(rule.get("cidrBlocks") or ())
                yield Permission(side == "ingress", protocol, int(rule["fromPort"]), int(rule["toPort"]), peers)


def _permission(cloud_state: CloudState, ingress: bool, rule: dict[str, Any]) -> Permission:
    protocol = NUMBERS.get(str(rule["ipProtocol"]), str(rule["ipProtocol"]))
    other = rule.get("referencedSecurityGroupId")
    peers = tuple(_members(cloud_state, other)) if other else (rule.get("cidrIpv4"),)
    return Permission(
        ingress, protocol, int(rule.get("fromPort") or 0), int(rule.get("toPort") or 0), tuple(filter(None, peers))
    )


def _members(cloud_state: CloudState, group: str) -> Iterator[str]:
    """Return the addresses of a security group's machines and load balancers."""
    for machine in cloud_state.resources(INSTANCE):
        if group in (machine.inputs.get("vpcSecurityGroupIds") or []):
            yield machine.outputs["privateIp"]
    for balancer in cloud_state.resources(BALANCER):
        if group in (balancer.inputs.get("securityGroups") or []):
            yield from private_addresses(balancer)


def forwarders(cloud_state: CloudState) -> list[Forwarder]:
    """Return the internal load balancers of the cloud state."""
    made: list[Forwarder] = []
    attached = cloud_state.resources(ATTACHMENT)
    for listener in cloud_state.resources(LISTENER):
        balancer = cloud_state.find(BALANCER, listener.inputs["loadBalancerArn"])
        group = cloud_state.find(TARGETS, listener.inputs["defaultActions"][0].get("targetGroupArn") or "")
        if balancer is None or group is None:
            continue
        mine = [each.inputs for each in attached if each.inputs["targetGroupArn"] == group.id]
        targets = [
            (address, int(each.get("port") or group.inputs["port"]))
            for each in mine
            if (address := _target(cloud_state, each["targetId"]))
        ]
        check = group.inputs.get("healthCheck") or {}
        made += [
            Forwarder(address, int(listener.inputs["port"]), check, targets) for address in private_addresses(balancer)
        ]
    return made


def _target(cloud_state: CloudState, id: str) -> str:
    """Return the address of a target, an instance or an address; empty for an instance that is gone."""
    if not id.startswith("i-"):
        return id
    machine = cloud_state.find(INSTANCE, id)
    return machine.outputs["privateIp"] if machine else ""


CLOUD_SERVICES = CloudServices(
    machines=MACHINES,
    address=lambda _, machine: machine.outputs["privateIp"],
    user_data=lambda _, ask: _user_data(ask),
    range=lambda cloud_state: IPv4Network(cloud_state.resources("aws:ec2/vpc:Vpc")[0].inputs["cidrBlock"]),
    resolver=lambda network: str(network[2]),
    services=private_ways.HOST,
    names=addresses,
    permissions=permissions,
    forwarders=forwarders,
    reached=private_ways.is_reached,
)
