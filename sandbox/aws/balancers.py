"""Load balancers (network and application), target groups, attachments, listeners."""

import re
from typing import Any

from sandbox.aws.addresses import vpc_of
from sandbox.aws.network import BALANCER, EIP, INSTANCE, SUBNET, in_groups, in_subnet, in_vpc
from sandbox.aws.regions import REGIONS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.values import select

TARGETS = "aws:lb/targetGroup:TargetGroup"
_NAME = (
    re.compile(r"(?!internal-)(?!-)[A-Za-z0-9-]{1,32}(?<!-)"),
    "1 to 32 letters, digits and hyphens, none at the ends",
)
_CODES = {"network": "net", "application": "app", "gateway": "gwy"}


def _subnets(inputs: dict[str, Any]) -> list[str]:
    return [*select(inputs, "subnets[]"), *select(inputs, "subnetMappings[].subnetId")]


def _kind(inputs: dict[str, Any]) -> str:
    return inputs.get("loadBalancerType") or "application"


def _zones(request: Request) -> None:
    """One subnet a zone; an application load balancer needs two zones."""
    subnets = _subnets(request.inputs)
    records = [request.world.find(SUBNET, subnet) for subnet in subnets]
    found = [record.outputs["availabilityZone"] for record in records if record]
    if len(set(found)) < len(found):
        raise Refusal(
            "InvalidConfigurationRequest",
            "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
        )
    if _kind(request.inputs) == "application" and len(found) < 2:
        raise Refusal("ValidationError", "At least two subnets in two different Availability Zones must be specified")


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
        "dnsName": request.format(f"{internal}{{in_.name}}-{{hex:16}}.{domain}.amazonaws.com"),
        "zoneId": row.network_balancer if network else row.application_balancer,
        "vpcId": vpc_of(request, (_subnets(request.inputs) or [""])[0]),
        "subnets": _subnets(request.inputs),
    }


def _balancer_replaced(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Network load balancers take security groups at creation only, keep at least one, and lose no subnet."""
    if _kind(new) != "network":
        return []
    groups = bool(old.get("securityGroups")) != bool(new.get("securityGroups"))
    lost = set(map(str, _subnets(old))) - set(map(str, _subnets(new)))
    return ["securityGroups"] * groups + ["subnets", "subnetMappings"] * bool(lost)


def _listener_arn(request: Request) -> str:
    parent = request.inputs["loadBalancerArn"].replace(":loadbalancer/", ":listener/", 1)
    return f"{parent}/{request.digits(16)}"


def _suffix(request: Request) -> dict[str, Any]:
    return {"arn": request.id, "arnSuffix": request.id.split(":", 5)[5].removeprefix("loadbalancer/")}


def _to_targets(path: str, holds: str) -> Reference:
    return Reference(path, TARGETS, "TargetGroupNotFound", "Target group '{id}' not found", holds)


TYPES: dict[str, ResourceType] = {
    BALANCER: ResourceType(
        id=_arn,
        immutable=("name", "namePrefix", "internal", "loadBalancerType", "customerOwnedIpv4Pool"),
        chosen=("subnets", "subnetMappings", "securityGroups", "ipAddressType", "internal", "name"),
        fallback={"loadBalancerType": "application", "enableDeletionProtection": False},
        unordered=("subnets", "subnetMappings", "securityGroups"),
        outputs={"ipAddressType": "ipv4"},
        derive=lambda request: _suffix(request) | _balancer(request),
        auto_name=AutoName(limit=32),
        at_most_one=(("name", "namePrefix"), ("subnets", "subnetMappings")),
        at_least_one=(("subnets", "subnetMappings"),),
        patterns={"name": _NAME},
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
        rules=(_zones, tag_rule("ValidationError")),
        replaces=_balancer_replaced,
    ),
    TARGETS: ResourceType(
        id="arn:aws:elasticloadbalancing:{region}:{account}:targetgroup/{in_.name}/{hex:16}",
        immutable=("name", "namePrefix", "port", "protocol", "protocolVersion", "targetType", "vpcId", "ipAddressType"),
        chosen=("name", "ipAddressType", "loadBalancingAlgorithmType", "loadBalancingCrossZoneEnabled", "stickiness"),
        fallback={"targetType": "instance", "deregistrationDelay": 300},
        outputs={"ipAddressType": "ipv4"},
        derive=lambda request: _suffix(request) | {"loadBalancerArns": []},
        volatile=("loadBalancerArns",),
        auto_name=AutoName(limit=32),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": _NAME},
        references=(in_vpc(holds="dangle"),),
        unique=(
            Unique(
                "target group",
                ("name",),
                "DuplicateTargetGroupName",
                "A target group with the same name '{in_.name}' exists, but with different settings",
                regional=True,
            ),
        ),
        rules=(tag_rule("ValidationError"),),
        in_use=("ResourceInUse", "Target group '{id}' is currently in use by a listener or a rule"),
    ),
    "aws:lb/targetGroupAttachment:TargetGroupAttachment": ResourceType(
        id="{in_.targetGroupArn}-{hex:26}",
        immutable=("targetGroupArn", "targetId", "port", "availabilityZone", "quicServerId"),
        references=(
            _to_targets("targetGroupArn", "vanish"),
            Reference(
                "targetId",
                INSTANCE,
                "InvalidTarget",
                "The following targets are not in a running state: '{id}'",
                only="i-",
            ),
        ),
    ),
    "aws:lb/listener:Listener": ResourceType(
        id=_listener_arn,
        immutable=("loadBalancerArn",),
        chosen=("protocol", "sslPolicy", "mutualAuthentication", "tcpIdleTimeoutSeconds"),
        outputs={"arn": "{id}"},
        references=(
            Reference("loadBalancerArn", BALANCER, "LoadBalancerNotFound", "Load balancer '{id}' not found", "vanish"),
            _to_targets("defaultActions[].targetGroupArn", "refuse"),
            _to_targets("defaultActions[].forward.targetGroups[].arn", "refuse"),
        ),
        unique=(
            Unique(
                "listener",
                ("loadBalancerArn", "port"),
                "DuplicateListener",
                "A listener already exists on this port ({in_.port}) for this load balancer '{in_.loadBalancerArn}'",
            ),
        ),
    ),
}
