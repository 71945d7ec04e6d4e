"""What the cloud controller gets on AWS: tags that it looks for, and rights on the cluster's own things alone."""

import json

import pytest

from components.aws.cloud_controller import CHANGES, LISTENERS, statements
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from policies.rules.permissions import WITHOUT_RESOURCES
from sandbox.aws.policies import refused
from tests.components.recorded_wiring import config, of

ROLE = "arn:aws:iam::123456789012:role/dev-control-plane"
TAG = "kubernetes.io/cluster/dev"
BALANCER = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/a"
NETWORK_BALANCER = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/a/1"
LISTENER = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/net/a/1/2"
GROUP = "arn:aws:ec2:eu-west-1:123456789012:security-group/sg-1"


def may(action: str, resource: str, **context: str) -> bool:
    policy = {"Version": "2012-10-17", "Statement": statements("dev", "aws")}
    return not refused([policy], action, resource, ROLE, context)


@pytest.mark.parametrize(
    "what", ["AccountAttributes", "Addresses", "InternetGateways", "SecurityGroups", "Subnets", "Vpcs"]
)
def test_the_controller_reads_what_elb_reads_in_its_name(what: str) -> None:
    """Elastic Load Balancing user guide, "API permissions": needed to create a load balancer."""
    assert may(f"ec2:Describe{what}", "*") and f"ec2:Describe{what}" in WITHOUT_RESOURCES


@pytest.mark.parametrize("action", CHANGES)
def test_the_controller_changes_balancers_of_its_cluster_only(action: str) -> None:
    called = f"elasticloadbalancing:{action}"
    assert may(called, BALANCER, **{f"aws:ResourceTag/{TAG}": "owned"})
    assert not may(called, BALANCER, **{"aws:ResourceTag/kubernetes.io/cluster/other": "owned"})
    assert not may(called, BALANCER)


def test_the_controller_tags_only_what_it_creates() -> None:
    made = {f"aws:RequestTag/{TAG}": "owned"}
    creates = {"elasticloadbalancing:CreateAction": "CreateLoadBalancer"}
    assert may("elasticloadbalancing:CreateLoadBalancer", BALANCER, **made)
    assert not may("elasticloadbalancing:CreateLoadBalancer", BALANCER)
    assert may("elasticloadbalancing:AddTags", BALANCER, **made, **creates)
    assert not may("elasticloadbalancing:AddTags", BALANCER, **made), "so it cannot take over another's"
    assert may("ec2:CreateTags", GROUP, **made, **{"ec2:CreateAction": "CreateSecurityGroup"})
    assert not may("ec2:CreateTags", GROUP, **made)


@pytest.mark.parametrize(
    ("action", "resource", "creates"),
    [
        ("elasticloadbalancing:CreateLoadBalancer", BALANCER, ""),
        ("elasticloadbalancing:AddTags", BALANCER, "CreateLoadBalancer"),
        ("elasticloadbalancing:AddTags", LISTENER, "CreateListener"),
        ("ec2:CreateSecurityGroup", GROUP, ""),
    ],
)
def test_a_service_can_add_tags_but_none_of_mullions(action: str, resource: str, creates: str) -> None:
    context = {f"aws:RequestTag/{TAG}": "owned", "aws:RequestTag/team": "billing"}
    context |= {"elasticloadbalancing:CreateAction": creates} if creates else {}
    assert may(action, resource, **context)
    assert not may(action, resource, **context, **{"aws:RequestTag/mullion:cluster": "other"})


@pytest.mark.parametrize("action", LISTENERS)
def test_the_controller_changes_listeners_of_its_cluster_only(action: str) -> None:
    called = f"elasticloadbalancing:{action}"
    assert may(called, LISTENER, **{f"aws:ResourceTag/{TAG}": "owned"})
    assert not may(called, LISTENER), "another's listener would send its clients to this cluster"


def test_the_controller_creates_and_tags_listeners_of_its_own_load_balancers_only() -> None:
    """It tags them in the call that creates them, for which AWS also asks the right to AddTags."""
    made, own = {f"aws:RequestTag/{TAG}": "owned"}, {f"aws:ResourceTag/{TAG}": "owned"}
    creates = {"elasticloadbalancing:CreateAction": "CreateListener"}
    assert may("elasticloadbalancing:CreateListener", NETWORK_BALANCER, **made, **own)
    assert may("elasticloadbalancing:AddTags", LISTENER, **made, **creates)
    assert not may("elasticloadbalancing:CreateListener", NETWORK_BALANCER, **made)
    assert not may("elasticloadbalancing:AddTags", LISTENER, **made)


def test_the_controller_opens_the_workers_group_and_deletes_only_its_own() -> None:
    shared, own = ({f"aws:ResourceTag/{TAG}": value} for value in ("shared", "owned"))
    assert may("ec2:AuthorizeSecurityGroupIngress", GROUP, **shared)
    assert not may("ec2:AuthorizeSecurityGroupIngress", GROUP), "the control plane's group has no such tag"
    assert may("ec2:DeleteSecurityGroup", GROUP, **own)
    assert not may("ec2:DeleteSecurityGroup", GROUP, **shared)


def test_with_a_controller_resources_have_its_tags_and_without_none_has() -> None:
    tag = "kubernetes.io/cluster/aws-dev"

    def tagged(**cluster: str) -> dict[str, set[str]]:
        found = record("aws-dev", {**config("aws-dev"), CLUSTER: {**config("aws-dev")[CLUSTER], **cluster}})
        assert found.errors == []
        kinds = ("aws:ec2/instance:Instance", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup")
        return {kind: {name for name, each in of(found, kind).items() if tag in each.inputs["tags"]} for kind in kinds}

    with_one = tagged(cloud_controller="external")
    assert with_one["aws:ec2/securityGroup:SecurityGroup"] == {"aws-dev-workers"}
    assert all(with_one.values())
    assert not any(tagged().values())


def test_only_the_control_planes_role_gets_the_controllers_rights() -> None:
    spec = {**config("aws-dev")[CLUSTER], "cloud_controller": "external"}
    found = of(record("aws-dev", {**config("aws-dev"), CLUSTER: spec}), "aws:iam/rolePolicy:RolePolicy")
    actions = {
        name: {action for row in json.loads(each.inputs["policy"])["Statement"] for action in row["Action"]}
        for name, each in found.items()
    }
    create = "elasticloadbalancing:CreateLoadBalancer"
    assert {name for name, listed in actions.items() if create in listed} == {"aws-dev-control-plane"}
