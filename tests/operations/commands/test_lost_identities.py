"""Identities of machines that somebody deleted: which ones count, and what is said about them."""

from typing import Any

import pytest

from operations.commands import lost_identities

ROLE, PROFILE = "aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile"
MANAGED, ACCOUNT = "azure-native:managedidentity:UserAssignedIdentity", "gcp:serviceaccount/account:Account"


def row(kind: str, name: str, **outputs: str) -> dict[str, Any]:
    return {"type": kind, "urn": f"urn:pulumi:small::mullion::a${kind}::{name}", "outputs": outputs}


def test_each_lost_identity_is_named_with_its_kind_and_the_way_back() -> None:
    said = lost_identities.advice([("small-workers", ROLE), ("small-workers", PROFILE), ("small-web-0", "aws:ec2:X")])
    assert said.startswith("deleted in the account: role small-workers, instance profile small-workers. Machines")
    assert 'docs/recovery.md, "A deleted identity"' in said
    assert lost_identities.advice([("small-web-0", "aws:ec2/instance:Instance")]) == ""


@pytest.mark.parametrize(
    ("kind", "number"), [(ROLE, "uniqueId"), (PROFILE, "uniqueId"), (MANAGED, "principalId"), (ACCOUNT, "uniqueId")]
)
def test_an_identity_created_again_under_its_name_has_another_number(kind: str, number: str) -> None:
    before = [row(kind, "a", **{number: "1"}), row(kind, "b", **{number: "2"}), row(kind, "gone", **{number: "3"})]
    after = [row(kind, "a", **{number: "1"}), row(kind, "b", **{number: "9"}), row(kind, "new", **{number: "4"})]
    assert lost_identities.created_again(before, after) == [("b", kind)]


def test_a_first_up_has_no_identity_created_again() -> None:
    assert lost_identities.created_again([], [row(ROLE, "a", uniqueId="1")]) == []
    unknown = [row(ROLE, "a")]
    assert lost_identities.created_again(unknown, [row(ROLE, "a", uniqueId="1")]) == []
