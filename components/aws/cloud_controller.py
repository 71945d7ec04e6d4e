"""What the AWS cloud controller manager needs of the cluster's resources: tags that it looks for, and rights."""

from collections.abc import Mapping
from typing import Any

from components.plan import ClusterPlan
from components.spec.models import CloudController
from components.topology.addressing import ENDPOINTS

CLUSTER_TAG = "kubernetes.io/cluster/"
"""Prefix of the tag that marks a cluster's resources (cloud-provider-aws, pkg/providers/v1/tags.go). The controller
gives what it creates the value `owned`; Mullion gives its own resources `shared`, so `down` finds the others."""

_PUBLIC, _INTERNAL = "kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"
"""Tags of the subnets for load balancers of the internet, and for internal ones (pkg/providers/v1/aws.go)."""

READS = tuple(
    f"{service}:Describe{what}"
    for service, listed in {
        "ec2": "AccountAttributes Addresses AvailabilityZones Instances InstanceTopology InternetGateways RouteTables"
        " SecurityGroups Subnets Vpcs",
        "elasticloadbalancing": "Listeners LoadBalancerAttributes LoadBalancerPolicies LoadBalancers"
        " TargetGroupAttributes TargetGroups TargetHealth",
    }.items()
    for what in listed.split()
)
"""Actions that read; they support no resource-level permissions. Elastic Load Balancing reads AccountAttributes,
Addresses, InternetGateways and Vpcs with the caller's rights (its user guide, "API permissions")."""

CREATES = ("CreateLoadBalancer", "CreateTargetGroup")
"""Actions that create and tag, without their prefix, as are those below."""

LISTENERS = ("DeleteListener", "ModifyListener")
"""Actions on listeners of network load balancers. The controller creates each with its tags."""

CHANGES = (
    *("AddTags", "ApplySecurityGroupsToLoadBalancer", "AttachLoadBalancerToSubnets", "ConfigureHealthCheck"),
    *("CreateLoadBalancerListeners", "CreateLoadBalancerPolicy", "DeleteLoadBalancer", "DeleteLoadBalancerListeners"),
    *("DeleteTargetGroup", "DeregisterInstancesFromLoadBalancer", "DeregisterTargets"),
    *("DetachLoadBalancerFromSubnets", "ModifyLoadBalancerAttributes", "ModifyTargetGroup"),
    *("ModifyTargetGroupAttributes", "RegisterInstancesWithLoadBalancer", "RegisterTargets", "SetSecurityGroups"),
    *("SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesOfListener"),
)
"""Actions on the controller's own load balancers and target groups."""

TAGGED = (
    *(f"elasticloadbalancing:{action}" for action in (*CREATES, "CreateListener", "AddTags")),
    *("ec2:CreateSecurityGroup", "ec2:CreateTags"),
)
"""Actions that set tags."""

_OURS = {"ForAnyValue:StringLike": {"aws:TagKeys": ["mullion:*"]}}

SOURCE = "kubernetes/cloud-provider-aws, calls in pkg/providers/v1 of v1.24.19 to v1.37.1"
"""Source of the actions: what the service and node controllers call. Volumes (in-tree EBS, up to 1.30), routes and the
tagging controller are not used. Condition keys: Service Authorization Reference, "Amazon EC2", "Elastic Load
Balancing" and "Elastic Load Balancing V2". AWS's managed policy ROSAKubeControllerPolicy, for the same controller,
limits listeners by these keys too."""

_SERVICE, _OF_NETWORKS = "elasticloadbalancing.amazonaws.com", ("loadbalancer", "listener")


def is_used(plan: ClusterPlan) -> bool:
    """Return whether the cluster has a cloud controller."""
    return plan.spec.cloud_controller is CloudController.EXTERNAL


def cluster_tag(plan: ClusterPlan) -> dict[str, str]:
    """Return the tag by which the controller knows instances and security groups; empty without a controller."""
    return {f"{CLUSTER_TAG}{plan.name}": "shared"} if is_used(plan) else {}


def subnet_tags(plan: ClusterPlan, subnet: str) -> dict[str, str]:
    """Return the tags of a planned subnet (edge-0, machines-0); empty without a controller.

    Subnets of private endpoints have none: of a zone's subnets the controller takes the one with the role's tag
    (findELBSubnets of pkg/providers/v1/aws.go), which leaves these small subnets to the endpoints.
    """
    if not is_used(plan) or subnet.startswith(ENDPOINTS):
        return {}
    return {**cluster_tag(plan), _PUBLIC if subnet.startswith("edge") else _INTERNAL: "1"}


def statements(cluster: str, partition: str) -> list[dict[str, Any]]:
    """Return the policy statements of the control plane for the controller.

    It changes only what has the cluster's tag; it tags while it creates, and cannot tag what exists already. A
    Service's owner may give a balancer any tags but those by which `mullion reap --by-tags` knows a cluster.
    """
    tag = f"{CLUSTER_TAG}{cluster}"
    groups = [f"arn:{partition}:ec2:*:*:security-group/*"]
    balancers = [f"arn:{partition}:elasticloadbalancing:*:*:{kind}/*" for kind in ("loadbalancer", "targetgroup")]
    networks, listeners = ([f"arn:{partition}:elasticloadbalancing:*:*:{each}/net/*"] for each in _OF_NETWORKS)
    role = f"arn:{partition}:iam::*:role/aws-service-role/{_SERVICE}/AWSServiceRoleForElasticLoadBalancing"
    made, own = {f"aws:RequestTag/{tag}": "owned"}, {f"aws:ResourceTag/{tag}": "owned"}
    ours = {f"aws:ResourceTag/{tag}": ["owned", "shared"]}
    return [
        _allow(READS, ["*"]),
        _allow(_elb(*CREATES), balancers, made),
        _allow(_elb("AddTags"), balancers, {**made, "elasticloadbalancing:CreateAction": [*CREATES]}),
        _allow(_elb(*CHANGES, *LISTENERS), [*balancers, *listeners], own),
        _allow(_elb("CreateListener"), networks, {**made, **own}),
        _allow(_elb("AddTags"), listeners, {**made, "elasticloadbalancing:CreateAction": "CreateListener"}),
        _allow(("ec2:CreateSecurityGroup",), [f"arn:{partition}:ec2:*:*:vpc/*"]),
        _allow(("ec2:CreateSecurityGroup",), groups, made),
        _allow(("ec2:CreateTags",), groups, {**made, "ec2:CreateAction": "CreateSecurityGroup"}),
        _allow(("ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"), groups, ours),
        _allow(("ec2:DeleteSecurityGroup",), groups, own),
        # ELB needs its role before the account's first load balancer
        _allow(("iam:CreateServiceLinkedRole",), [role], {"iam:AWSServiceName": _SERVICE}),
        {"Effect": "Deny", "Action": list(TAGGED), "Resource": ["*"], "Condition": _OURS},
    ]


def _elb(*actions: str) -> tuple[str, ...]:
    return tuple(f"elasticloadbalancing:{action}" for action in actions)


def _allow(actions: tuple[str, ...], resources: list[str], equal: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": resources}
    return {**found, "Condition": {"StringEquals": dict(equal)}} if equal else found
