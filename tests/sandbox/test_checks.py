"""Checks of the provider before it calls the cloud, and automatic names."""

from typing import Any

import pytest

from sandbox.values import UNKNOWN, Secret

SUBNET = {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}
INSTANCE = {"ami": "ami-1", "instanceType": "m6i.large"}
ACTION = {"type": "forward", "targetGroupArn": "arn"}

WRONG: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "unknown": ("Subnet", SUBNET | {"cidrBlok": "x"}, "cidrBlok", "did you mean cidrBlock"),
    "missing": ("Subnet", {"cidrBlock": "10.0.0.0/24"}, "vpcId", "missing required property"),
    "mistyped": ("Subnet", SUBNET | {"mapPublicIpOnLaunch": "yes"}, "mapPublicIpOnLaunch", "must be a boolean"),
    "number for text": ("Vpc", {"cidrBlock": 10}, "cidrBlock", "must be a string, not an integer"),
    "boolean for number": ("Listener", {"port": True}, "port", "must be an integer, not a boolean"),
    "nested unknown": (
        "Instance",
        INSTANCE | {"rootBlockDevice": {"size": 100}},
        "rootBlockDevice.size",
        "no such property",
    ),
    "nested mistyped": (
        "Instance",
        INSTANCE | {"metadataOptions": {"httpPutResponseHopLimit": "1"}},
        "metadataOptions.httpPutResponseHopLimit",
        "must be an integer",
    ),
    "in a list": (
        "Instance",
        INSTANCE | {"ebsBlockDevices": [{"deviceName": "xvdb"}, {"volumeSize": 1}]},
        "ebsBlockDevices[1].deviceName",
        "missing required property",
    ),
    "list of objects": ("Zone", {"name": "a.b", "vpcs": [{"vpc": "x"}]}, "vpcs[0].vpcId", "missing required"),
    "in a map": ("Vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"a": 1}}, "tags.a", "must be a string"),
    "defaultActions": (
        "Listener",
        {"loadBalancerArn": "a", "defaultActions": [ACTION | {"order": "first"}]},
        "defaultActions[0].order",
        "must be an integer",
    ),
    "bucket name": ("Bucket", {"bucket": "Upper_Case"}, "bucket", "3 to 63 lower-case"),
    "group name": ("SecurityGroup", {"name": "sg-mine"}, "name", "does not begin with sg-"),
    "balancer name": ("LoadBalancer", {"name": "a" * 33, "subnets": ["s"]}, "name", "1 to 32"),
    "instance type": ("Instance", INSTANCE | {"instanceType": "large"}, "instanceType", "such as m6i.large"),
    "both user-data": (
        "Instance",
        INSTANCE | {"userData": "a", "userDataBase64": "YQ=="},
        "userDataBase64",
        "conflicts",
    ),
    "no image": ("Instance", {"instanceType": "m6i.large"}, "ami", "missing: set ami or launchTemplate"),
    "no peer": ("SecurityGroupIngressRule", {"securityGroupId": "s", "ipProtocol": "tcp"}, "cidrIpv4", "missing"),
    "tag of aws": ("Vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"aws:x": "1"}}, "tags.aws:x", "reserved"),
    "long tag": ("Vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"k": "v" * 257}}, "tags.k", "at most 256"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_invalid_input_is_reported_with_its_path(account, case) -> None:
    short, inputs, path, reason = WRONG[case]
    failures = account.failures(short, **inputs)
    assert reason in failures.get(path, ""), failures


def test_an_unknown_type_is_refused_with_its_name(account) -> None:
    _, failures = account.provider.check("urn:pulumi:d::p::aws:sqs/queue:Queue::q", {}, {}, b"")
    assert "the sandbox has no type aws:sqs/queue:Queue" in failures[0].reason


def test_unknown_and_secret_values_pass_the_check_of_shapes(account) -> None:
    inputs = {"vpcId": UNKNOWN, "cidrBlock": Secret("10.0.0.0/24"), "tags": {"a": UNKNOWN}}
    assert account.failures("Subnet", **inputs) == {}
    assert account.failures("Subnet", vpcId=Secret(1)) != {}, "a secret is checked all the same"


def test_a_child_of_a_component_is_checked_by_its_own_type(account) -> None:
    urn = "urn:pulumi:dev::mullion::mullion:index:MixedCluster$aws:ec2/vpc:Vpc::vpc"
    assert account.provider.check(urn, {}, {"cidrBlock": "10.0.0.0/16"}, b"")[1] == []


NAMED = [("Bucket", "bucket"), ("Role", "name"), ("SecurityGroup", "name"), ("TargetGroup", "name"), ("Secret", "name")]
PLAIN: dict[str, dict[str, Any]] = {"Role": {"assumeRolePolicy": "{}"}}


@pytest.mark.parametrize(("short", "name"), NAMED)
def test_an_automatic_name_is_the_logical_name_with_seven_digits_and_stays(account, short, name) -> None:
    urn, inputs = account.urn(short, "thing"), PLAIN.get(short, {})
    first, _ = account.provider.check(urn, {}, inputs, b"one")
    assert first[name].startswith("thing-")
    assert len(first[name]) == len("thing-") + 7
    assert account.provider.check(urn, {}, inputs, b"one")[0] == first, "the same seed gives the same name"
    assert account.provider.check(urn, {}, inputs, b"two")[0][name] != first[name], "a replacement has another"
    assert account.provider.check(urn, first, inputs, b"two")[0][name] == first[name], "what exists keeps its name"


def test_a_name_becomes_automatic_when_the_program_removes_it(account) -> None:
    given = account.check("Bucket", "b", bucket="mine")
    assert account.check("Bucket", "b", given)["bucket"] != "mine"


def test_an_automatic_name_beyond_the_limit_is_refused(account) -> None:
    _, failures = account.provider.check(account.urn("LoadBalancer", "n" * 30), {}, {"subnets": ["a"]}, b"")
    assert "more than 32 characters" in failures[0].reason


def test_the_automatic_name_of_a_bucket_is_lower_case(account) -> None:
    checked, _ = account.provider.check(account.urn("Bucket", "My_Bundles"), {}, {}, b"")
    assert checked["bucket"].startswith("my-bundles-")


@pytest.mark.parametrize(("settings", "reason"), [({}, "unknown region ''"), ({"region": "eu-moon-1"}, "eu-moon-1")])
def test_a_provider_with_an_unknown_region_is_refused(account, settings, reason) -> None:
    failures = account.provider.configure(settings)
    assert failures[0].property == "region"
    assert reason in failures[0].reason
