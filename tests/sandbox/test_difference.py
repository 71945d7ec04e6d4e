"""Differences that change a resource in place, that replace it, and that are no change."""

import json
from typing import Any

import pytest

from sandbox.values import UNKNOWN, Asset, Secret

OBJECT = {"bucket": "b", "key": "k"}
NETWORK = {"loadBalancerType": "network", "subnets": ["a", "b"]}
GROUPED = NETWORK | {"securityGroups": ["sg-1"]}


def _asset(digest: str) -> Asset:
    return Asset("signature", digest, text="x")


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, str], set[str]]] = {
    "tags in place": (
        "Vpc",
        {"tags": {"a": "1"}},
        {"tags": {"a": "2", "b": "3"}},
        {"tags.a": "update", "tags.b": "add"},
        set(),
    ),
    "range replaces": ("Vpc", {"cidrBlock": "a"}, {"cidrBlock": "b"}, {"cidrBlock": "update"}, {"cidrBlock"}),
    "nested in place": (
        "Instance",
        {"rootBlockDevice": {"volumeSize": 50, "encrypted": True}},
        {"rootBlockDevice": {"volumeSize": 60, "encrypted": True}},
        {"rootBlockDevice.volumeSize": "update"},
        set(),
    ),
    "nested replaces": (
        "Instance",
        {"rootBlockDevice": {"encrypted": False}},
        {"rootBlockDevice": {"encrypted": True}},
        {"rootBlockDevice.encrypted": "update"},
        {"rootBlockDevice.encrypted"},
    ),
    "image replaces": ("Instance", {"ami": "a"}, {"ami": "b"}, {"ami": "update"}, {"ami"}),
    "size in place": ("Instance", {"instanceType": "a"}, {"instanceType": "b"}, {"instanceType": "update"}, set()),
    "user-data in place": ("Instance", {"userData": "a"}, {"userData": "b"}, {"userData": "update"}, set()),
    "user-data on demand": (
        "Instance",
        {"userData": "a", "userDataReplaceOnChange": True},
        {"userData": "b", "userDataReplaceOnChange": True},
        {"userData": "update"},
        {"userData"},
    ),
    "order of groups": (
        "Instance",
        {"vpcSecurityGroupIds": ["a", "b"]},
        {"vpcSecurityGroupIds": ["b", "a"]},
        {},
        set(),
    ),
    "empty is absent": ("Vpc", {"tags": {}}, {"tags": None}, {}, set()),
    "left to the cloud": ("Instance", {"privateIp": "10.0.0.5"}, {}, {}, set()),
    "taken away": ("Listener", {"certificateArn": "x"}, {}, {"certificateArn": "delete"}, set()),
    "policy by meaning": (
        "Role",
        {"assumeRolePolicy": '{"a": 1, "b": 2}'},
        {"assumeRolePolicy": json.dumps({"b": 2, "a": 1}, indent=2)},
        {},
        set(),
    ),
    "policy changed": (
        "Role",
        {"assumeRolePolicy": '{"a": 1}'},
        {"assumeRolePolicy": '{"a": 2}'},
        {"assumeRolePolicy": "update"},
        set(),
    ),
    "secret value": (
        "SecretVersion",
        {"secretString": Secret("a")},
        {"secretString": Secret("b")},
        {"secretString": "update"},
        {"secretString"},
    ),
    "secret mark alone": ("SecretVersion", {"secretString": "a"}, {"secretString": Secret("a")}, {}, set()),
    "object content": (
        "BucketObjectv2",
        OBJECT | {"source": _asset("1")},
        OBJECT | {"source": _asset("2")},
        {"source": "update"},
        set(),
    ),
    "object same": ("BucketObjectv2", OBJECT | {"source": _asset("1")}, OBJECT | {"source": _asset("1")}, {}, set()),
    "object key": ("BucketObjectv2", OBJECT, OBJECT | {"key": "l"}, {"key": "update"}, {"key"}),
    "not yet known": ("Subnet", {"vpcId": "a"}, {"vpcId": UNKNOWN}, {"vpcId": "update"}, {"vpcId"}),
    "first group of a network balancer": (
        "LoadBalancer",
        NETWORK,
        GROUPED,
        {"securityGroups": "add"},
        {"securityGroups"},
    ),
    "one more group": (
        "LoadBalancer",
        GROUPED,
        GROUPED | {"securityGroups": ["sg-1", "sg-2"]},
        {"securityGroups[1]": "add"},
        set(),
    ),
    "subnet lost": ("LoadBalancer", NETWORK, NETWORK | {"subnets": ["a"]}, {"subnets[1]": "delete"}, {"subnets[1]"}),
    "subnet added": ("LoadBalancer", NETWORK, NETWORK | {"subnets": ["a", "b", "c"]}, {"subnets[2]": "add"}, set()),
    "group of an application balancer": (
        "LoadBalancer",
        {"subnets": ["a"]},
        {"subnets": ["a"], "securityGroups": ["s"]},
        {"securityGroups": "add"},
        set(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_reported_and_replaces_the_resource_if_the_cloud_must(account, case) -> None:
    short, old, new, changes, replaces = CASES[case]
    difference = account.provider.diff(account.urn(short, "x"), old, new)
    assert difference.changes == changes
    assert set(difference.replaces) == replaces


@pytest.mark.parametrize(("given", "first"), [({"name": "mine"}, True), ({}, False)])
def test_a_resource_with_a_fixed_name_is_deleted_before_its_replacement_is_created(account, given, first) -> None:
    old = account.check("TargetGroup", "tg", port=1, **given)
    new = account.check("TargetGroup", "tg", old, port=2, **given)
    assert account.provider.diff(account.urn("TargetGroup", "tg"), old, new).delete_first is first
