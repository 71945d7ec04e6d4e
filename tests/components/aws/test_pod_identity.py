"""Roles of pods on AWS: what is public, whom a role trusts, and the order in which keys are published and used."""

import asyncio
import hashlib
import json
from typing import Any

import pytest

from components.aws.issuer_bucket import bucket_name
from components.aws.pod_identity import AUDIENCE, OPENED_SECONDS, PodIdentity, role_name, trust
from components.spec.pod_identity import DISCOVERY, KEYS, ServiceAccount
from operations.recorder.recorder import Recording, record
from sandbox.aws.policies import refused
from tests.components.aws.samples import changed
from tests.components.recorded_wiring import of
from tools.golden.cases import PODS

BUCKET, OBJECT = "aws:s3/bucket:Bucket", "aws:s3/bucketObjectv2:BucketObjectv2"
POLICY, BLOCK = "aws:s3/bucketPolicy:BucketPolicy", "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ROLE, ATTACHMENT = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
VERSION = "aws:secretsmanager/secretVersion:SecretVersion"
NOBODY, TLS = "arn:aws:iam::nobody:anonymous", {"aws:SecureTransport": "true"}


@pytest.fixture(scope="module")
def found() -> Recording:
    recording = record("aws-dev", changed("aws-dev", **PODS))
    assert recording.errors == []
    return recording


def issuer(found: Recording) -> dict[str, Any]:
    secret: Any = of(found, VERSION)["aws-dev-pki"].inputs["secretString"]
    return json.loads(secret.value)["issuer"]


def may_anybody(found: Recording, action: str, key: str, context: dict[str, str] = TLS) -> bool:
    inputs = of(found, POLICY)["aws-dev-issuer"].inputs
    return not refused([inputs["policy"]], action, f"arn:aws:s3:::{inputs['bucket']}/{key}", NOBODY, context)


@pytest.mark.parametrize("key", [DISCOVERY, KEYS])
def test_everybody_reads_the_two_documents_over_tls_and_writes_neither(found: Recording, key: str) -> None:
    assert may_anybody(found, "s3:GetObject", key)
    assert not may_anybody(found, "s3:GetObject", key, {"aws:SecureTransport": "false"})
    assert not may_anybody(found, "s3:PutObject", key) and not may_anybody(found, "s3:DeleteObject", key)


def test_nothing_else_of_the_bucket_is_public(found: Recording) -> None:
    assert not may_anybody(found, "s3:GetObject", "other") and not may_anybody(found, "s3:ListBucket", "")
    keys = {
        each.inputs["key"]
        for each in of(found, OBJECT).values()
        if each.inputs["bucket"] == of(found, POLICY)["aws-dev-issuer"].inputs["bucket"]
    }
    assert keys == {DISCOVERY, KEYS}
    block = of(found, BLOCK)["aws-dev-issuer"].inputs
    assert block["blockPublicAcls"] and block["ignorePublicAcls"]


@pytest.mark.parametrize("group", ["pods-shop-uploads-cc9ce375", "workers", "control-plane"])
def test_no_role_of_the_cluster_does_more_than_read_whatever_its_policies_allow(found: Recording, group: str) -> None:
    inputs = of(found, POLICY)["aws-dev-issuer"].inputs
    everything = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    )
    for name, denied in ((f"aws-dev-{group}-0123456", True), ("builder", False)):
        role = f"arn:aws:iam::123456789012:role/{name}"
        context = {**TLS, "aws:PrincipalArn": role}
        for action in ("s3:PutObject", "s3:DeleteObject", "s3:PutBucketPolicy", "s3:ListBucket"):
            for resource in (f"arn:aws:s3:::{inputs['bucket']}", f"arn:aws:s3:::{inputs['bucket']}/{KEYS}"):
                assert bool(refused([everything, inputs["policy"]], action, resource, role, context)) == denied


@pytest.mark.parametrize("cluster", ["dev", "c" * 26])
@pytest.mark.parametrize("region", ["eu-west-1", "ap-southeast-4", "me-south-1", "me-central-1"])
def test_the_buckets_name_is_always_the_same_and_of_the_account_where_s3_has_that(cluster: str, region: str) -> None:
    name = bucket_name(cluster, "bcdfgh", "123456789012", region)
    assert 3 <= len(name) <= 63 and "-issuer-bcdfgh" in name
    assert name.endswith("-an") == (not region.startswith("me-"))
    assert name.endswith(f"-issuer-bcdfgh-123456789012-{region}-an") or region.startswith("me-")


def test_the_bucket_keeps_its_name_is_not_protected_and_its_documents_are_compared(found: Recording) -> None:
    inputs = of(found, BUCKET)["aws-dev-issuer"].inputs
    assert inputs["bucketNamespace"] == "account-regional" and inputs["bucket"].startswith("aws-dev-issuer-")
    for name in ("discovery", "keys"):
        stored = of(found, OBJECT)[f"aws-dev-issuer-{name}"].inputs
        assert stored["etag"] == hashlib.md5(stored["content"].encode()).hexdigest()


@pytest.mark.parametrize("seconds", [0.0, OPENED_SECONDS])
def test_the_policy_waits_after_the_block_was_opened(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    waited: list[float] = []

    async def sleep(time: float) -> None:
        waited.append(time)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    component: Any = PodIdentity.__new__(PodIdentity)
    component._seconds = seconds
    asyncio.run(component._until_opened(None))
    assert waited == [seconds] and OPENED_SECONDS >= 10


def test_the_other_buckets_stay_closed(found: Recording) -> None:
    others = {name: each.inputs for name, each in of(found, BLOCK).items() if name != "aws-dev-issuer"}
    assert set(others) == {"aws-dev-bundles", "aws-dev-snapshots"}
    assert all(each[setting] for each in others.values() for setting in each if setting != "bucket")


def test_provider_documents_and_secret_name_the_same_issuer(found: Recording) -> None:
    url = issuer(found)["url"]
    assert url.startswith("https://aws-dev-issuer-") and not url.endswith("/")
    assert of(found, PROVIDER)["aws-dev-issuer"].inputs["url"] == url
    document = json.loads(of(found, OBJECT)["aws-dev-issuer-discovery"].inputs["content"])
    assert (document["issuer"], document["jwks_uri"]) == (url, issuer(found)["keys"])


def test_a_role_trusts_the_tokens_of_its_own_service_account_for_sts_alone() -> None:
    account = ServiceAccount(namespace="shop", name="uploads")
    arn = "arn:aws:iam::123456789012:oidc-provider/issuer.example.com"
    [statement] = json.loads(trust(arn, "https://issuer.example.com", account))["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Principal": {"Federated": arn},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {
            "StringEquals": {
                "issuer.example.com:aud": AUDIENCE,
                "issuer.example.com:sub": "system:serviceaccount:shop:uploads",
            }
        },
    }


def test_each_entry_has_a_role_with_its_policies(found: Recording) -> None:
    roles = {name: each.inputs for name, each in of(found, ROLE).items() if "-pods-" in name}
    accounts = {each["tags"]["mullion:service-account"] for each in roles.values()}
    assert accounts == {"shop/uploads", "shop/reports.monthly"}
    [attached] = of(found, ATTACHMENT).values()
    assert attached.inputs["policyArn"] == PODS["pod_identity"]["service_accounts"][0]["policies"][0]
    assert attached.inputs["role"].startswith(role_name("aws-dev", ServiceAccount(namespace="shop", name="uploads")))


def test_names_of_roles_fit_iam_and_tell_similar_accounts_apart() -> None:
    names = [("a-b", "c"), ("a", "b-c"), ("a" * 63, "b" * 253), ("a" * 63, "b" * 252 + "c"), ("shop", "x.y")]
    roles = {role_name("c" * 26, ServiceAccount(namespace=one, name=other)) for one, other in names}
    assert len(roles) == len(names)
    assert all(len(f"{name}-0123456") <= 64 for name in roles)


def test_the_secret_waits_for_the_published_documents_and_their_policy(found: Recording) -> None:
    """So no control plane learns of the issuer, or of a new key, before everybody can read it."""
    names = {each.urn: each.name for each in found.resources.values()}
    waits = {
        (urn.split("::")[2].rpartition("$")[2], names[urn]) for urn in of(found, VERSION)["aws-dev-pki"].dependencies
    }
    assert {(OBJECT, "aws-dev-issuer-keys"), (OBJECT, "aws-dev-issuer-discovery"), (POLICY, "aws-dev-issuer")} <= waits


def test_a_cluster_without_the_option_has_none_of_it() -> None:
    plain = record("aws-dev", changed("aws-dev"))
    assert not of(plain, PROVIDER) and not of(plain, ATTACHMENT)
    secret: Any = of(plain, VERSION)["aws-dev-pki"].inputs["secretString"]
    assert "issuer" not in json.loads(secret.value)


def test_outputs_name_the_issuer_and_the_roles(found: Recording) -> None:
    [cluster] = [each for each in found.resources.values() if each.type == "mullion:index:MixedCluster"]
    outputs = cluster.outputs or {}
    assert outputs["issuer"] == issuer(found)["url"]
    assert set(outputs["pod_roles"]) == {"shop/uploads", "shop/reports.monthly"}
    assert all(":role/" in arn or ":iam:" in arn for arn in outputs["pod_roles"].values())
