"""Target groups of load balancers, their attachments, and listeners."""

import re
from typing import Any

from sandbox.aws.addresses import vpc_of
from sandbox.aws.balancers import NAME
from sandbox.aws.network import BALANCER, INSTANCE, in_vpc
from sandbox.aws.quotas import QUOTAS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.quotas import beside

TARGETS = "aws:lb/targetGroup:TargetGroup"
LISTENER = "aws:lb/listener:Listener"
ATTACHMENT = "aws:lb/targetGroupAttachment:TargetGroupAttachment"
_PROTOCOLS = ("TCP", "TLS", "UDP", "TCP_UDP", "HTTP", "HTTPS", "GENEVE", "QUIC", "TCP_QUIC")
_FITTING = {
    "TCP": ("TCP", "TCP_UDP"),
    "TLS": ("TCP", "TLS"),
    "UDP": ("UDP", "TCP_UDP"),
    "TCP_UDP": ("TCP_UDP",),
    "HTTP": ("HTTP", "HTTPS"),
    "HTTPS": ("HTTP", "HTTPS"),
}
"""Protocols of target groups by protocol of the listener."""


def _one_of(*words: str) -> tuple[re.Pattern[str], str]:
    return re.compile("|".join(words)), f"one of {', '.join(words)}"


_KEPT = ("path", "matcher", "timeout")
"""Fields of a health check that the provider keeps from its state if the program does not write them; an empty text
removes them.
"""


def _health_check(request: Request) -> None:
    before = (request.old.inputs.get("healthCheck") or {}) if request.old else {}
    check = {name: before[name] for name in _KEPT if name in before} | (request.inputs.get("healthCheck") or {})
    protocol = check.get("protocol") or request.inputs.get("protocol") or "HTTP"
    for name in ("matcher", "path"):
        if protocol == "TCP" and check.get(name):
            field, of = f"health_check[0].{name}", "health_check[0].protocol"
            message = f'Attribute "{field}" cannot be specified when "{of}" is "TCP".'
            raise Refusal("Invalid Attribute Combination", message)
    if check.get("timeout", 2) >= check.get("interval", 30):
        raise Refusal("ValidationError", "Health check interval must be greater than the timeout.")
    port = check.get("port", "traffic-port")
    if port != "traffic-port" and not (port.isdigit() and 1 <= int(port) <= 65535):
        raise Refusal(
            "ValidationError", f"Health check port '{port}' must be in the range of 1-65535 or 'traffic-port'"
        )


def _whole(request: Request) -> None:
    """Require protocol, port and VPC of all target groups but those of Lambda functions."""
    missing = [name for name in ("protocol", "port", "vpcId") if request.inputs.get(name) is None]
    if missing and request.inputs.get("targetType") != "lambda":
        raise Refusal("ValidationError", f"A {', '.join(missing)} must be specified")


def _target(request: Request) -> None:
    """Check that an instance belongs to the target group's VPC; a group of type ip takes addresses."""
    group = request.cloud_state.find(TARGETS, request.inputs["targetGroupArn"])
    target, kind = request.inputs["targetId"], group.outputs["targetType"] if group else ""
    if (kind == "instance") != target.startswith("i-") and kind in ("instance", "ip"):
        wanted = {"instance": "instance IDs", "ip": "IP addresses"}[kind]
        raise Refusal("ValidationError", f"'{target}' is not valid: the target group takes {wanted}")
    machine = request.cloud_state.find(INSTANCE, target)
    if group and machine and vpc_of(request, machine.inputs.get("subnetId")) != group.inputs.get("vpcId"):
        vpc = group.inputs.get("vpcId")
        raise Refusal("InvalidTarget", f"The following targets are not in the target group VPC '{vpc}': '{target}'")
    _most_targets(request)


def _most_targets(request: Request) -> None:
    """Refuse a target or a listener by which its load balancer would have more targets than the quota."""
    state, inputs = request.cloud_state, request.inputs
    added = {inputs["targetGroupArn"]} if request.type == ATTACHMENT else set(_forwarded(inputs))
    users = [one for group in added for one in state.referrers(TARGETS, group, "refuse")]
    balancers: set[str] = {one.inputs["loadBalancerArn"] for one in users}
    if request.type == LISTENER:
        balancers.add(inputs["loadBalancerArn"])
    for balancer in balancers:
        behind = {group for one in state.referrers(BALANCER, balancer) for group in _forwarded(one.inputs)}
        count = sum(len(state.referrers(TARGETS, group, "vanish")) for group in behind | added)
        QUOTAS.refuse_over(request, "targets per load balancer", count, int(request.type == ATTACHMENT))


def _forwarded(listener: dict[str, Any]) -> list[str]:
    """Return the target groups of a listener."""
    return [each["targetGroupArn"] for each in listener.get("defaultActions") or [] if each.get("targetGroupArn")]


def _listener(request: Request) -> None:
    """Check that a listener's protocol is its target groups', that a TLS listener has a certificate, and that each
    target group has one load balancer.
    """
    inputs = request.inputs
    if inputs.get("protocol") in ("TLS", "HTTPS") and not inputs.get("certificateArn"):
        raise Refusal("ValidationError", f"A certificate must be specified for {inputs['protocol']} listeners")
    for action in inputs["defaultActions"]:
        group = request.cloud_state.find(TARGETS, action.get("targetGroupArn") or "")
        if group and group.inputs.get("protocol") not in _FITTING.get(inputs.get("protocol") or "", _PROTOCOLS):
            raise Refusal(
                "IncompatibleProtocols",
                f"The protocol '{group.inputs.get('protocol')}' of the target group '{group.id}' is not compatible with"
                f" the listener's protocol '{inputs['protocol']}'",
            )
        others = request.cloud_state.referrers(TARGETS, group.id, "refuse") if group else []
        if any(one.inputs["loadBalancerArn"] != inputs["loadBalancerArn"] for one in others if one.type == LISTENER):
            raise Refusal(
                "TargetGroupAssociationLimit",
                "The following target groups cannot be associated with more than one load balancer:"
                f" {action['targetGroupArn']}",
            )
    _most_targets(request)


def _listener_arn(request: Request) -> str:
    parent = request.inputs["loadBalancerArn"].replace(":loadbalancer/", ":listener/", 1)
    return f"{parent}/{request.digits(16)}"


def _group(request: Request) -> dict[str, Any]:
    return {"arn": request.id, "arnSuffix": request.id.split(":", 5)[5], "loadBalancerArns": []}


def _to_targets(path: str, holds: str) -> Reference:
    return Reference(path, TARGETS, "TargetGroupNotFound", "Target group '{id}' not found", holds)


TYPES: dict[str, ResourceType] = {
    TARGETS: ResourceType(
        id="arn:aws:elasticloadbalancing:{region}:{account}:targetgroup/{in_.name}/{hex:16}",
        immutable=("name", "namePrefix", "port", "protocol", "protocolVersion", "targetType", "vpcId", "ipAddressType"),
        chosen=("name", "ipAddressType", "loadBalancingAlgorithmType", "loadBalancingCrossZoneEnabled", "stickiness"),
        fallback={"targetType": "instance", "deregistrationDelay": 300},
        outputs={"ipAddressType": "ipv4"},
        derive=_group,
        volatile=("loadBalancerArns",),
        auto_name=AutoName(limit=32),
        at_most_one=(("name", "namePrefix"),),
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
        patterns={
            "name": NAME,
            "protocol": _one_of(*_PROTOCOLS),
            "targetType": _one_of("instance", "ip", "lambda", "alb"),
            "healthCheck.protocol": _one_of("TCP", "HTTP", "HTTPS"),
        },
        ranges={
            "port": (1, 65535),
            "deregistrationDelay": (0, 3600),
            "healthCheck.interval": (5, 300),
            "healthCheck.timeout": (2, 120),
            "healthCheck.healthyThreshold": (2, 10),
            "healthCheck.unhealthyThreshold": (2, 10),
        },
        rules=(_whole, _health_check, QUOTAS.at_most("target groups per region"), tag_rule("ValidationError")),
        in_use=("ResourceInUse", "Target group '{id}' is currently in use by a listener or a rule"),
    ),
    ATTACHMENT: ResourceType(
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
        rules=(_target,),
    ),
    LISTENER: ResourceType(
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
        patterns={"protocol": _one_of(*_PROTOCOLS)},
        ranges={"port": (1, 65535)},
        rules=(_listener, QUOTAS.at_most("listeners per load balancer", beside(BALANCER, "loadBalancerArn"))),
    ),
}
