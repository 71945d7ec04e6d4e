"""Only the control plane's role has rights on the bucket with copies, and those fit into IAM's limit."""

import json
from copy import deepcopy
from typing import Any

import pytest

from components.aws.identity import LONGEST
from components.aws.snapshot_copies import source, statements
from components.spec.snapshots import SnapshotCopy
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, record
from sandbox.aws.policies import MACHINE, refused
from tests.components.recorded_wiring import config, of, recording

STACK, ROLE_POLICY = "aws-prod", "aws:iam/rolePolicy:RolePolicy"
ACCOUNT, OWNER = "111122223333", "444455556666"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/prod-control-plane"


def built(copied: dict[str, Any] | None, **network: Any) -> Recording:
    """Return what is registered with copies in a bucket, and with options of the network."""
    given: Any = deepcopy(config(STACK))
    given[CLUSTER]["network"] = {**given[CLUSTER].get("network", {}), **network}
    given[CLUSTER]["snapshots"] = {**given[CLUSTER].get("snapshots", {}), **({"copy_to": copied} if copied else {})}
    found = record(STACK, given) if copied or network else recording(STACK)
    assert found.errors == []
    return found


def policies(found: Recording) -> dict[str, Any]:
    """Return the statements of each role by its name."""
    return {name: json.loads(each.inputs["policy"])["Statement"] for name, each in of(found, ROLE_POLICY).items()}


def test_only_the_control_planes_role_gets_rights_on_the_bucket() -> None:
    copied = {"bucket": "copies", "region": "eu-central-1"}
    before, after = policies(built(None)), policies(built(copied))
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {f"{STACK}-control-plane"}
    more = [each for each in after[f"{STACK}-control-plane"] if each not in before[f"{STACK}-control-plane"]]
    assert more == statements(STACK, SnapshotCopy(**copied), FROM_NAT)
    assert len(json.dumps(after[f"{STACK}-control-plane"]).replace(" ", "")) < LONGEST


PUBLIC = {"egress": "public", "nat_gateways": "single"}
FROM_NAT = {"IpAddress": {"aws:SourceIp": ["198.51.100.1"] * 3}}
"""Condition with the address that the recorder gives each NAT gateway."""


@pytest.mark.parametrize(
    ("region", "network", "expected"),
    [
        ("HERE", {}, {"StringEquals": {"aws:SourceVpc": "VPC"}}),
        ("HERE", PUBLIC, {"StringEquals": {"aws:SourceVpc": "VPC"}}),
        ("ap-south-1", {}, FROM_NAT),
        ("ap-south-1", PUBLIC, {}),
    ],
)
def test_rights_on_copies_are_for_requests_from_the_clusters_network(
    region: str, network: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Credentials that somebody copied from a control plane read every object of the cluster otherwise."""
    here = config(STACK)["aws:region"]
    copied = {"bucket": "copies", "region": here if region == "HERE" else region}
    found = built(copied, **network)
    [vpc] = {each.inputs["vpcId"] for each in of(found, "aws:ec2/vpcEndpoint:VpcEndpoint").values()}
    known = json.loads(json.dumps(expected).replace('"VPC"', json.dumps(vpc)))
    wanted = statements(STACK, SnapshotCopy(**copied), known)
    rows = [each for each in policies(found)[f"{STACK}-control-plane"] if "arn:aws:s3:::copies" in each["Resource"][0]]
    assert rows == wanted
    assert len(rows) == 4


def test_an_existing_vpc_has_ways_of_its_owner_so_no_condition_is_known() -> None:
    for region in ("eu-west-1", "ap-south-1"):
        assert source(SnapshotCopy(bucket="copies", region=region), "eu-west-1", "", []) == {}


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
