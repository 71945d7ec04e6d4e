"""Only the control plane's role has rights on the bucket with copies, and those fit into IAM's limit."""

import json
from copy import deepcopy
from typing import Any

import pytest

from components.aws.identity import LONGEST
from components.aws.snapshot_copies import statements
from components.spec.snapshots import SnapshotCopy
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from sandbox.aws.policies import MACHINE, refused
from tests.components.recorded_wiring import config, of, recording

STACK, ROLE_POLICY = "aws-prod", "aws:iam/rolePolicy:RolePolicy"
ACCOUNT, OWNER = "111122223333", "444455556666"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/prod-control-plane"


def policies(**snapshots: Any) -> dict[str, Any]:
    """Return the statements of each role by its name, with options of `snapshots`."""
    given: Any = deepcopy(config(STACK))
    given[CLUSTER]["snapshots"] = {**given[CLUSTER].get("snapshots", {}), **snapshots}
    found = record(STACK, given) if snapshots else recording(STACK)
    assert found.errors == []
    return {name: json.loads(each.inputs["policy"])["Statement"] for name, each in of(found, ROLE_POLICY).items()}


def test_only_the_control_planes_role_gets_rights_on_the_bucket() -> None:
    before, after = policies(), policies(copy_to={"bucket": "copies", "region": "eu-central-1"})
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {f"{STACK}-control-plane"}
    more = [each for each in after[f"{STACK}-control-plane"] if each not in before[f"{STACK}-control-plane"]]
    assert more == statements(STACK, SnapshotCopy(bucket="copies", region="eu-central-1"))
    assert len(json.dumps(after[f"{STACK}-control-plane"]).replace(" ", "")) < LONGEST


def test_a_write_needs_the_condition_that_replaces_nothing() -> None:
    """Source of the keys: Amazon S3 user guide, "Enforce conditional writes on Amazon S3 buckets"."""
    copied = SnapshotCopy(bucket="copies", region="us-gov-west-1", account=OWNER)
    policy, own = {"Statement": statements("shop", copied)}, {"aws:ResourceAccount": OWNER}
    place = "arn:aws-us-gov:s3:::copies/shop/etcd/x.db"
    whole, part = ({"s3:ObjectCreationOperation": each} for each in ("true", "false"))
    for context, allowed in (
        ({**whole, "s3:if-none-match": "*"}, True),
        (whole, False),
        ({**whole, "s3:if-match": "etag"}, False),
        (part, True),
        ({}, False),
    ):
        assert (not refused([policy], "s3:PutObject", place, ROLE, {**MACHINE, **own, **context})) is allowed, context
    for action in ("s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutObjectRetention", "s3:PutObjectAcl"):
        assert refused([policy], action, place, ROLE, {**MACHINE, **own})


@pytest.mark.parametrize(
    ("account", "owner", "allowed"),
    [(None, ACCOUNT, True), (None, OWNER, False), (OWNER, OWNER, True), (OWNER, ACCOUNT, False), (None, "", False)],
)
def test_a_bucket_of_another_account_gets_and_gives_nothing(account: str | None, owner: str, *, allowed: bool) -> None:
    """Whoever makes a bucket of this name in an account of theirs would get each object of the cluster."""
    policy = {"Statement": statements("shop", SnapshotCopy(bucket="copies", region="eu-west-1", account=account))}
    bucket, object_ = "arn:aws:s3:::copies", "arn:aws:s3:::copies/shop/etcd/x.db"
    context = {**MACHINE, "aws:PrincipalAccount": ACCOUNT, **({"aws:ResourceAccount": owner} if owner else {})}
    context |= {"s3:prefix": "shop/etcd/", "s3:ObjectCreationOperation": "true", "s3:if-none-match": "*"}
    for action, resource in (("s3:PutObject", object_), ("s3:GetObject", object_), ("s3:ListBucket", bucket)):
        assert (not refused([policy], action, resource, ROLE, context)) is allowed, action
