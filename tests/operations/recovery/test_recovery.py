"""Creations without a recorded result: adding them to the state, and the message for a person."""

import hashlib
from typing import Any

import pytest
from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.recovery import recovery
from operations.recovery.lookup import Found, Resource

URN = "urn:pulumi:small::mullion::mullion:index:MixedCluster$aws:ec2/vpc:Vpc::small-vpc"
VPC = "aws:ec2/vpc:Vpc"


def resource(urn: str = URN, kind: str = VPC, **more: Any) -> dict[str, Any]:
    tags = {"mullion:urn": urn.replace("$", "+")}
    return {"urn": urn, "type": kind, "custom": True, "inputs": {"cidrBlock": "10.0.0.0/16", "tags": tags}, **more}


def there(asked: Resource, others: set[str]) -> Found | None:
    """A cloud that has one vpc."""
    return None if "vpc-1" in others else Found("vpc-1", {"cidrBlock": "10.0.0.0/16"}, {"arn": "arn:1"})


def test_an_existing_resource_is_added_to_the_state_once() -> None:
    resources: list[dict[str, Any]] = []
    assert recovery.adopt(resources, [resource(), resource()], there) == [resource()]
    [found] = resources
    assert (found["id"], found["outputs"], found["urn"]) == ("vpc-1", {"arn": "arn:1"}, URN)


def test_a_missing_resource_leaves_the_state_unchanged() -> None:
    resources = [resource("urn:x::y::z::other", id="vpc-1")]
    assert recovery.adopt(resources, [resource()], there) == []
    assert resources == [resource("urn:x::y::z::other", id="vpc-1")]


def test_a_resource_that_was_being_replaced_is_deleted_by_the_next_run() -> None:
    user = resource("urn:x::y::z::user", id="i-1")
    resources = [resource(id="vpc-0"), user]
    recovery.adopt(resources, [resource()], there)
    assert [(each["id"], each.get("delete", False)) for each in resources] == [
        ("vpc-1", False),
        ("vpc-0", True),
        ("i-1", False),
    ]


def test_a_resource_deleted_before_its_replacement_leaves_the_state() -> None:
    user = resource("urn:x::y::z::user", id="i-1")
    resources = [resource(id="vpc-0", pendingReplacement=True), user]
    recovery.adopt(resources, [resource()], there)
    assert [each["id"] for each in resources] == ["vpc-1", "i-1"]


def test_a_replacement_may_have_the_id_of_its_deleted_predecessor() -> None:
    """An object of a bucket, whose id is made of names."""
    resources = [resource(id="vpc-1", pendingReplacement=True)]
    assert recovery.adopt(resources, [resource()], there) == [resource()]
    assert [(each["id"], each.get("pendingReplacement")) for each in resources] == [("vpc-1", None)]


def test_masked_secrets_are_not_added_to_a_state() -> None:
    """It would make every secret of the state null, without a word (seen with engine 3.230.0)."""
    encrypted = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
    inputs = {"plain": "x", "one": "[secret]", "two": encrypted, "three": [{"a": [encrypted]}], "four": {"b": "y"}}
    new = {"type": VPC, "urn": URN, "custom": True, "id": "", "parent": "p", "inputs": inputs, "outputs": {}}
    event = {"op": "create", "urn": URN, "type": VPC, "provider": "q", "new": {**new, "provider": "q"}}
    [asked] = recovery.unanswered([auto.StepEventMetadata.from_json(event)])
    assert asked["inputs"] == {"plain": "x", "four": {"b": "y"}}


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
def test_only_creations_in_a_cloud_are_looked_up(kind: str, type_: str, asked: bool) -> None:
    deployment = {"pending_operations": [{"type": kind, "resource": resource(kind=type_)}]}
    assert bool(recovery.unknown(deployment)) is asked


def test_the_message_has_commands_to_search_and_to_update_the_state() -> None:
    rule = resource("urn:pulumi:small::mullion::c$aws:ec2/route:Route::small-out", "aws:ec2/route:Route")
    rule["inputs"] = {"routeTableId": "rtb-1", "password": {"secret": "x"}}
    text = recovery.by_hand("small", [resource(), rule])
    for words in (
        "small-vpc (aws:ec2/vpc:Vpc)",
        f"get-resources --tag-filters Key=mullion:urn,Values={URN.replace('$', '+')}",
        f"pulumi refresh --stack small --import-pending-creates '{URN}' ID",
        "it has no tags; its properties: routeTableId rtb-1",
        "pulumi refresh --stack small --clear-pending-creates",
    ):
        assert words in text, words
    assert "password" not in text


NETWORK, BUCKET = "gcp:compute/network:Network", "gcp:storage/bucket:Bucket"


def test_the_message_has_the_search_command_of_the_cloud() -> None:
    """GCP's labels hold a digest of the URN; most network resources take no labels, and are found by name."""
    urns = {kind: f"urn:pulumi:small::mullion::c${kind}::small-{kind.rpartition(':')[2]}" for kind in (NETWORK, BUCKET)}
    network = {"urn": urns[NETWORK], "type": NETWORK, "inputs": {"name": "small-network", "mtu": 1500}}
    digest = hashlib.sha256(urns[BUCKET].encode()).hexdigest()[:40]
    bucket = {"urn": urns[BUCKET], "type": BUCKET, "inputs": {"labels": {"mullion_urn": digest}}}
    text = recovery.by_hand("small", [network, bucket])
    assert "it has no tags; its properties: name small-network, mtu 1500" in text
    assert f"gcloud asset search-all-resources --scope=projects/PROJECT --query=labels.mullion_urn={digest}" in text
    assert "aws" not in text


@pytest.mark.parametrize(
    ("type_", "inputs", "command"),
    [
        ("aws:iam/role:Role", {"name": "c-1"}, "aws iam get-role --role-name c-1"),
        ("aws:route53/zone:Zone", {"name": "c.internal"}, "get-resources --region us-east-1 --tag-filters"),
        (
            "azure-native:privatedns:PrivateZone",
            {"privateZoneName": "c.internal"},
            "az resource list --tag mullion-urn=",
        ),
    ],
)
def test_types_that_the_search_by_tag_does_not_find_have_their_own_command(
    type_: str, inputs: dict[str, Any], command: str
) -> None:
    urn = f"urn:pulumi:small::mullion::c${type_}::small"
    tags = {f"{cloud_tables.of_type(type_).mark_of(type_)}urn": "x"}
    text = recovery.by_hand("small", [{"urn": urn, "type": type_, "inputs": {**inputs, "tags": tags}}])
    assert command in text
