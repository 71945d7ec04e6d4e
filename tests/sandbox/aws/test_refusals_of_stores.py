"""Refusals of names, policies, stores and references; a refused call changes nothing (Account.refused looks)."""

import json
from typing import Any

import pytest

from tests.sandbox.aws.account import POLICY, TRUST

TAKEN: dict[str, tuple[dict[str, Any], str]] = {
    "Bucket": ({"bucket": "mine"}, "BucketAlreadyOwnedByYou"),
    "Role": ({"name": "mine", "assumeRolePolicy": TRUST}, "EntityAlreadyExists"),
    "InstanceProfile": ({"name": "mine"}, "EntityAlreadyExists"),
    "OpenIdConnectProvider": (
        {"url": "https://issuer.example.com", "clientIdLists": ["sts.amazonaws.com"]},
        "EntityAlreadyExists",
    ),
    "Secret": ({"name": "mine"}, "ResourceExistsException"),
    "TargetGroup": ({"name": "mine", "targetType": "lambda"}, "DuplicateTargetGroupName"),
}


@pytest.mark.parametrize("short", TAKEN)
def test_a_taken_name_is_refused(account, short) -> None:
    inputs, code = TAKEN[short]
    account.create(short, "one", **inputs)
    assert account.refused(lambda: account.create(short, "two", **inputs)).code == code


def test_a_duplicate_record_is_refused_by_its_full_name(account) -> None:
    zone = account.create("Zone", "z", name="c.internal")
    record = {"zoneId": zone.id, "type": "A", "ttl": 60, "records": ["10.0.0.1"]}
    account.create("Record", "one", name="api", **record)
    refusal = account.refused(lambda: account.create("Record", "two", name="api.c.internal", **record))
    assert refusal.code == "InvalidChangeBatch"


@pytest.mark.parametrize("versioned", [False, True])
def test_a_bucket_with_objects_is_not_deleted_unless_forced(account, versioned) -> None:
    bucket = account.create("Bucket", "b", bucket="mine")
    if versioned:
        settings = {"status": "Enabled"}
        account.create("BucketVersioning", "v", bucket=bucket.id, versioningConfiguration=settings)
    kept = account.create("BucketObjectv2", "o", bucket=bucket.id, key="k", content="x")
    assert account.refused(lambda: account.delete(bucket)).code == "BucketNotEmpty"
    account.delete(kept)
    with account.cloud_state.transaction():
        account.cloud_state.put_object("mine", "status/m0", b"ready", "application/json", versioned=versioned)
    assert account.refused(lambda: account.delete(bucket)).code == "BucketNotEmpty", "what a machine wrote counts"
    forced = account.update(bucket, forceDestroy=True)
    account.delete(forced)
    assert account.cloud_state.objects("mine") == {}


def test_a_secrets_name_is_kept_for_its_recovery_window(account) -> None:
    account.delete(account.create("Secret", "s", name="pki"))
    refusal = account.refused(lambda: account.create("Secret", "s", name="pki"))
    assert refusal.code == "InvalidRequestException"
    assert "already scheduled for deletion" in refusal.message


def test_without_a_recovery_window_a_secrets_name_is_free_at_once(account) -> None:
    account.delete(account.create("Secret", "s", name="pki", recoveryWindowInDays=0))
    account.create("Secret", "s", name="pki", recoveryWindowInDays=0)


@pytest.mark.parametrize("days", [-1, 3, 31])
def test_a_recovery_window_is_0_or_7_to_30_days(account, days) -> None:
    refusal = account.refused(lambda: account.create("Secret", "s", recoveryWindowInDays=days))
    assert refusal.code == "InvalidParameterException"


def test_a_secret_value_has_at_most_65536_bytes_and_is_in_no_message(account) -> None:
    secret = account.create("Secret", "s")
    value = "k" * 65537
    refusal = account.refused(lambda: account.create("SecretVersion", "v", secretId=secret.id, secretString=value))
    assert refusal.code == "ValidationException"
    assert value not in str(refusal)


REFERENCES: list[tuple[str, dict[str, Any], str]] = [
    ("Subnet", {"vpcId": "vpc-0", "cidrBlock": "10.0.0.0/24"}, "InvalidVpcID.NotFound"),
    ("RouteTable", {"vpcId": "vpc-0"}, "InvalidVpcID.NotFound"),
    ("NatGateway", {"subnetId": "subnet-0", "allocationId": "eipalloc-0"}, "InvalidSubnetID.NotFound"),
    ("RolePolicy", {"role": "nobody", "policy": POLICY}, "NoSuchEntity"),
    ("BucketPolicy", {"bucket": "nothing", "policy": POLICY}, "NoSuchBucket"),
    ("BucketObjectv2", {"bucket": "nothing", "key": "k"}, "NoSuchBucket"),
    ("SecretVersion", {"secretId": "arn:nothing", "secretString": "x"}, "ResourceNotFoundException"),
    ("Record", {"zoneId": "Z0", "name": "a", "type": "A", "ttl": 1, "records": ["10.0.0.1"]}, "NoSuchHostedZone"),
    ("TargetGroupAttachment", {"targetGroupArn": "arn:nothing", "targetId": "i-0"}, "TargetGroupNotFound"),
    ("Listener", {"loadBalancerArn": "arn:nothing", "defaultActions": [{"type": "forward"}]}, "LoadBalancerNotFound"),
]


@pytest.mark.parametrize(("short", "inputs", "code"), REFERENCES)
def test_references_to_missing_resources_are_refused(account, short, inputs, code) -> None:
    assert account.refused(lambda: account.create(short, "x", **inputs)).code == code


def _statement(**changes: Any) -> str:
    statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"} | changes
    kept = {name: value for name, value in statement.items() if value is not None}
    return json.dumps({"Version": "2012-10-17", "Statement": [kept]})


@pytest.mark.parametrize(
    "policy",
    [
        "{not json",
        "[]",
        "{}",
        json.dumps({"Version": "2020-01-01", "Statement": []}),
        _statement(Effect="Maybe"),
        _statement(Action=None),
        _statement(Resource=None),
        _statement(Principal="*"),
    ],
)
def test_an_invalid_policy_is_malformed(account, policy) -> None:
    role = account.create("Role", "r", assumeRolePolicy=TRUST)
    refusal = account.refused(lambda: account.create("RolePolicy", "p", role=role.id, policy=policy))
    assert refusal.code == "MalformedPolicyDocument"


@pytest.mark.parametrize("policy", ["nothing", _statement(Principal="*"), _statement(Resource=None)])
def test_a_trust_policy_needs_a_principal_and_no_resource(account, policy) -> None:
    refusal = account.refused(lambda: account.create("Role", "r", assumeRolePolicy=policy))
    assert refusal.code == "MalformedPolicyDocument"


def test_a_bucket_policy_needs_a_principal(account) -> None:
    bucket = account.create("Bucket", "b")
    refusal = account.refused(lambda: account.create("BucketPolicy", "p", bucket=bucket.id, policy=POLICY))
    assert refusal.code == "MalformedPolicy"


def test_rules_of_tags_differ_by_service(account) -> None:
    urn = {"urn": "urn:pulumi:dev::mullion::a$b::c"}
    account.create("Vpc", "v", cidrBlock="10.0.0.0/16", tags=urn)
    bucket = account.create("Bucket", "b")
    role = {"assumeRolePolicy": TRUST}
    assert account.refused(lambda: account.create("Role", "r", tags=urn, **role)).code == "ValidationError"
    assert account.refused(lambda: account.create("Bucket", "c", tags=urn)).code == "InvalidTag"
    many = {f"k{number}": "v" for number in range(11)}
    refusal = account.refused(lambda: account.create("BucketObjectv2", "o", bucket=bucket.id, tags=many))
    assert refusal.code == "BadRequest", "an object takes ten tags"
