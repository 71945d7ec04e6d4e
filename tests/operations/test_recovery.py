"""Creations without an answer: what is taken over, how the state becomes, and what a person is told."""

from typing import Any

import pytest

from operations import recovery
from operations.lookup import Found, Resource

URN = "urn:pulumi:small::mullion::mullion:index:MixedCluster$aws:ec2/vpc:Vpc::small-vpc"
VPC = "aws:ec2/vpc:Vpc"


def resource(urn: str = URN, kind: str = VPC, **more: Any) -> dict[str, Any]:
    tags = {"mullion:urn": urn.replace("$", "+")}
    return {"urn": urn, "type": kind, "custom": True, "inputs": {"cidrBlock": "10.0.0.0/16", "tags": tags}, **more}


def there(asked: Resource, others: set[str]) -> Found | None:
    """A cloud that has one vpc."""
    return None if "vpc-1" in others else Found("vpc-1", {"cidrBlock": "10.0.0.0/16"}, {"arn": "arn:1"})


def test_what_is_there_gets_into_the_state_once() -> None:
    resources: list[dict[str, Any]] = []
    assert recovery.adopt(resources, [resource(), resource()], there) == [resource()]
    [found] = resources
    assert (found["id"], found["outputs"], found["urn"]) == ("vpc-1", {"arn": "arn:1"}, URN)


def test_what_is_not_there_leaves_the_state_as_it_is() -> None:
    resources = [resource("urn:x::y::z::other", id="vpc-1")]
    assert recovery.adopt(resources, [resource()], there) == []
    assert resources == [resource("urn:x::y::z::other", id="vpc-1")]


def test_what_was_being_replaced_is_deleted_by_the_next_run() -> None:
    user = resource("urn:x::y::z::user", id="i-1")
    resources = [resource(id="vpc-0"), user]
    recovery.adopt(resources, [resource()], there)
    assert [(each["id"], each.get("delete", False)) for each in resources] == [
        ("vpc-1", False),
        ("vpc-0", True),
        ("i-1", False),
    ]


@pytest.mark.parametrize(
    ("kind", "type_", "asked"),
    [
        ("creating", VPC, True),
        ("importing", VPC, True),
        ("updating", VPC, False),
        ("deleting", VPC, False),
        ("creating", "pulumi:index:Stash", False),
    ],
)
def test_only_creations_in_a_cloud_are_asked_for(kind: str, type_: str, asked: bool) -> None:
    deployment = {"pending_operations": [{"type": kind, "resource": resource(kind=type_)}]}
    assert bool(recovery.unknown(deployment)) is asked


def test_a_person_is_told_where_to_look_and_what_to_tell_the_engine() -> None:
    rule = resource("urn:pulumi:small::mullion::c$aws:ec2/route:Route::small-out", "aws:ec2/route:Route")
    rule["inputs"] = {"routeTableId": "rtb-1", "password": {"secret": "x"}}
    text = recovery.by_hand("small", [resource(), rule])
    for words in (
        "small-vpc (aws:ec2/vpc:Vpc)",
        f"get-resources --tag-filters Key=mullion:urn,Values={URN.replace('$', '+')}",
        f"pulumi refresh --stack small --import-pending-creates '{URN}' ID",
        "it takes no tags; it was to have routeTableId rtb-1",
        "pulumi refresh --stack small --clear-pending-creates",
    ):
        assert words in text, words
    assert "password" not in text
