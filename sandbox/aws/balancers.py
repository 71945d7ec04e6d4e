"""Load balancers, network and application."""

import json
import re
from typing import Any

from sandbox.aws.addresses import ADDRESS, check_in_subnet, vpc_of
from sandbox.aws.network import BALANCER, EIP, GROUP, SUBNET, has_gateway, in_groups, in_subnet
from sandbox.aws.quotas import QUOTAS
from sandbox.aws.regions import REGIONS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.values import select

NAME = (
    re.compile(r"(?!internal-)(?!-)[A-Za-z0-9-]{1,32}(?<!-)"),
    "1 to 32 letters, digits and hyphens, none at the ends",
)
_ADDRESS = Unique(
    ADDRESS.kind, (), "InvalidConfigurationRequest", "A private IPv4 address of load balancer '{in_.name}' is in use"
)
_CODES = {"network": "net", "application": "app", "gateway": "gwy"}


def _subnets(inputs: dict[str, Any]) -> list[str]:
    return [*select(inputs, "subnets[]"), *select(inputs, "subnetMappings[].subnetId")]


def _kind(inputs: dict[str, Any]) -> str:
    return inputs.get("loadBalancerType") or "application"


def _zones(request: Request) -> None:
    """Check for one subnet per zone; an application load balancer needs two zones."""
    subnets = _subnets(request.inputs)
    records = [request.cloud_state.find(SUBNET, subnet) for subnet in subnets]
    found = [record.outputs["availabilityZone"] for record in records if record]
    if len(set(found)) < len(found):
        raise Refusal(
            "InvalidConfigurationRequest",
            "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
        )
    if _kind(request.inputs) == "application" and len(found) < 2:
        raise Refusal("ValidationError", "At least two subnets in two different Availability Zones must be specified")


def _networks(request: Request) -> None:
    """Check that subnets and security groups are of one VPC; a public load balancer needs an internet gateway there."""
    subnets = _subnets(request.inputs)
    vpcs = {vpc_of(request, subnet) for subnet in subnets}
    if len(vpcs) > 1:
        raise Refusal(
            "InvalidConfigurationRequest", f"All subnets must belong to the same VPC: {', '.join(sorted(vpcs))}"
        )
    for group in request.inputs.get("securityGroups") or []:
        record = request.cloud_state.find(GROUP, group)
        if record and record.inputs.get("vpcId") not in vpcs:
            raise Refusal("InvalidConfigurationRequest", f"One or more security groups are invalid: {group}")
    vpc = next(iter(vpcs), "")
    if vpc and not request.inputs.get("internal") and not has_gateway(request, vpc):
        raise Refusal("InvalidSubnet", f"VPC {vpc} has no internet gateway")


def _addresses(request: Request) -> list[tuple[Unique, str]]:
    """Return the fixed addresses of an internal load balancer in its subnets."""
    mappings = request.inputs.get("subnetMappings") or []
    fixed = [(each["subnetId"], each["privateIpv4Address"]) for each in mappings if each.get("privateIpv4Address")]
    return [(_ADDRESS, json.dumps(each)) for each in fixed]


def _fixed_addresses(request: Request) -> None:
    for mapping in request.inputs.get("subnetMappings") or []:
        address = mapping.get("privateIpv4Address")
        if address and not request.inputs.get("internal"):
            raise Refusal(
                "InvalidConfigurationRequest", "Private IPv4 addresses are for internal load balancers; this one is not"
            )
        check_in_subnet(request, address, mapping.get("subnetId"))


def _late_groups(request: Request) -> None:
    """Refuse to add security groups to a network load balancer that was created without them."""
    before = request.old and request.old.inputs.get("securityGroups")
    if request.old and _kind(request.inputs) == "network" and request.inputs.get("securityGroups") and not before:
        raise Refusal(
            "InvalidConfigurationRequest",
            "You cannot set security groups on a Network Load Balancer that was created without security groups",
        )


def _balancers(request: Request) -> None:
    """Count network load balancers, which have a quota of their own."""
    if request.old is None and _kind(request.inputs) == "network":
        there = request.cloud_state.counts(request.type, request.region, "loadBalancerType").get("network", 0)
        QUOTAS.refuse_over(request, "network load balancers per region", there + 1)


def _deletable(request: Request) -> None:
    if request.inputs.get("enableDeletionProtection"):
        raise Refusal(
            "OperationNotPermitted",
            f"Load balancer '{request.id}' cannot be deleted because deletion protection is enabled",
        )


def _arn(request: Request) -> str:
    code = _CODES.get(_kind(request.inputs), "net")
    return request.format(
        "arn:aws:elasticloadbalancing:{region}:{account}:loadbalancer/" + code + "/{in_.name}/{hex:16}"
    )


def _balancer(request: Request) -> dict[str, Any]:
    row = REGIONS[request.region]
    network = _kind(request.inputs) == "network"
    internal = "internal-" if request.inputs.get("internal") and not network else ""
    domain = f"elb.{request.region}" if network else f"{request.region}.elb"
    return {
        "arn": request.id,
        "arnSuffix": request.id.split(":", 5)[5].removeprefix("loadbalancer/"),
        "dnsName": request.format(f"{internal}{{in_.name}}-{{hex:16}}.{domain}.amazonaws.com"),
        "zoneId": row.network_balancer if network else row.application_balancer,
        "vpcId": vpc_of(request, (_subnets(request.inputs) or [""])[0]),
        "subnets": _subnets(request.inputs),
    }


def _balancer_replaced(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the properties that force a replacement: network load balancers get security groups at creation only,
    keep at least one, and keep their subnets.
    """
    if _kind(new) != "network":
        return []
    groups = bool(old.get("securityGroups")) != bool(new.get("securityGroups"))
    lost = set(map(str, _subnets(old))) - set(map(str, _subnets(new)))
    return ["securityGroups"] * groups + ["subnets", "subnetMappings"] * bool(lost)


TYPES: dict[str, ResourceType] = {
    BALANCER: ResourceType(
        id=_arn,
        immutable=("name", "namePrefix", "internal", "loadBalancerType", "customerOwnedIpv4Pool"),
        chosen=("subnets", "subnetMappings", "securityGroups", "ipAddressType", "internal", "name"),
        fallback={"loadBalancerType": "application", "enableDeletionProtection": False},
        unordered=("subnets", "subnetMappings", "securityGroups"),
        outputs={"ipAddressType": "ipv4"},
        derive=_balancer,
        auto_name=AutoName(limit=32),
        at_most_one=(("name", "namePrefix"), ("subnets", "subnetMappings")),
        at_least_one=(("subnets", "subnetMappings"),),
        patterns={"name": NAME},
        references=(
            in_subnet("subnets[]"),
            in_subnet("subnetMappings[].subnetId"),
            in_groups("securityGroups[]"),
            Reference(
                "subnetMappings[].allocationId",
                EIP,
                "AllocationIdNotFound",
                "The allocation ID '{id}' does not exist",
                "refuse",
            ),
        ),
        unique=(
            Unique(
                "load balancer",
                ("name",),
                "DuplicateLoadBalancerName",
                "A load balancer with the same name '{in_.name}' exists, but with different settings",
                regional=True,
            ),
        ),
        claims=_addresses,
        rules=(_zones, _networks, _fixed_addresses, _late_groups, _balancers, tag_rule("ValidationError")),
        delete_rules=(_deletable,),
        replaces=_balancer_replaced,
    ),
}
