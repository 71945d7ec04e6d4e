"""The public bucket of a cluster's issuer is a narrow exception, and pods' roles get no broad policy."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from operations.engine import recorded_policies
from operations.recorder.recorder import record
from policies.rules.permissions import ATTACHMENT
from policies.rules.rule import Resource
from policies.rules.stores import CLOSED, POLICY
from tests.components.aws.samples import changed
from tests.policies.cases import BUCKET, OBJECT, Change, given, gone
from tests.policies.recorded import broken
from tools.golden.cases import PODS

ISSUER, KEYS = "aws-dev-issuer", "aws-dev-issuer-keys"


@lru_cache
def resources(*, preview: bool = False) -> tuple[Resource, ...]:
    recording = record("aws-dev", changed("aws-dev", **PODS), preview=preview)
    assert recording.errors == []
    return tuple(map(recorded_policies.resource, recording.resources.values()))


def said(kind: str, name: str, change: Change) -> dict[str, list[str]]:
    found = [change(each) if (each.type, each.name) == (kind, name) else each for each in resources()]
    assert tuple(found) != resources()
    return broken(tuple(each for each in found if each is not None))


def statement(**fields: Any) -> Callable[[Resource], Resource]:
    def change(each: Resource) -> Resource:
        policy = json.loads(each.properties["policy"])
        policy["Statement"][0] |= fields
        return replace(each, properties={**each.properties, "policy": json.dumps(policy)})

    return change


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "up"])
def test_a_stack_with_roles_of_pods_breaks_no_rule(preview: bool) -> None:
    assert broken(resources(preview=preview)) == {}


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        (OBJECT, KEYS, given(key="keys/sa.key")),
        (CLOSED, ISSUER, given(blockPublicAcls=False)),
        (CLOSED, ISSUER, given(ignorePublicAcls=False)),
        (CLOSED, ISSUER, gone),
        (POLICY, ISSUER, statement(Action="s3:PutObject")),
        (POLICY, ISSUER, statement(Action=["s3:GetObject", "s3:ListBucket"])),
        (POLICY, ISSUER, statement(Resource="arn:aws:s3:::aws-dev-issuer/*")),
        (POLICY, ISSUER, gone),
    ],
)
def test_a_bucket_that_opens_more_than_the_issuers_documents_is_refused(kind: str, name: str, change: Change) -> None:
    wrong = said(kind, name, change)
    assert any(each.startswith(f"{ISSUER}: does not block public access") for each in wrong["stores-encrypted"])


def test_the_issuers_bucket_of_a_protected_stack_goes_with_its_option_and_the_others_stay_protected() -> None:
    recording = record("aws-prod", changed("aws-prod", **PODS))
    kept = tuple(map(recorded_policies.resource, recording.resources.values()))
    [own] = [each for each in kept if each.type == BUCKET and each.name == "aws-prod-issuer"]
    assert not own.protect and broken(kept) == {}
    others = [each for each in kept if each.type == BUCKET and each.name != "aws-prod-issuer"]
    assert others and all(each.protect for each in others)


def test_the_exception_opens_no_other_bucket() -> None:
    wrong = said(CLOSED, "aws-dev-bundles", given(blockPublicPolicy=False))
    assert any(each.startswith("aws-dev-bundles: does not block") for each in wrong["stores-encrypted"])


def attachment() -> Resource:
    [found] = [each for each in resources() if each.type == ATTACHMENT]
    return found


@pytest.mark.parametrize("name", ["AdministratorAccess", "PowerUserAccess", "IAMFullAccess"])
def test_roles_of_pods_get_no_broad_policy(name: str) -> None:
    wrong = said(ATTACHMENT, attachment().name, given(policyArn=f"arn:aws:iam::aws:policy/{name}"))
    assert name in wrong["permissions-narrow"][0]


def test_roles_of_pods_may_have_policies_of_aws_and_roles_of_machines_may_not() -> None:
    policy = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
    assert said(ATTACHMENT, attachment().name, given(policyArn=policy)) == {}
    machines = given(policyArn=policy, role="aws-dev-workers-0123456")
    assert "AmazonS3ReadOnlyAccess" in said(ATTACHMENT, attachment().name, machines)["permissions-narrow"][0]
