"""Changes behind the engine's back, as the provider reads them."""

from typing import Any

from sandbox import tamper
from sandbox.values import plain
from tests.sandbox.aws.account import TRUST


def _read(account: Any, thing: Any) -> Any:
    return account.provider.read(thing.urn, thing.id, thing.outputs, thing.inputs)


def _record(account: Any, thing: Any) -> Any:
    return next(each for each in account.cloud_state.resources() if each.id == thing.id)


def test_a_refresh_reads_a_changed_property(account, machine) -> None:
    options = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    thing = machine(metadataOptions=options, tags={"a": "b", "c": "d"})
    changes = {"metadataOptions.httpTokens": "optional", "sourceDestCheck": False, "tags.a": None, "tags.e": "f"}
    tamper.change(account.cloud_state, _record(account, thing), changes)
    inputs, outputs = _read(account, thing)
    assert inputs["metadataOptions"] == {"httpTokens": "optional", "httpPutResponseHopLimit": 1}
    assert outputs["sourceDestCheck"] is inputs["sourceDestCheck"] is False
    assert outputs["tags"] == outputs["tagsAll"] == {"c": "d", "e": "f"}
    assert plain(thing.inputs["metadataOptions"]) == options, "what the program knows is as it was"


def test_a_role_with_an_attached_policy_stays_unless_the_provider_detaches_it(account) -> None:
    attached = {"managedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]}
    for force in (False, True):
        role = account.create("Role", f"r{force}", assumeRolePolicy=TRUST, forceDetachPolicies=force)
        tamper.change(account.cloud_state, _record(account, role), attached)
        if force:
            account.delete(role)
            assert _read(account, role) is None
        else:
            refusal = account.refused(lambda role=role: account.delete(role))
            assert (refusal.code, "must detach all policies first" in refusal.message) == ("DeleteConflict", True)


def test_default_tags_stay_when_own_tags_change(account) -> None:
    account.provider.configure({"region": "eu-west-1", "defaultTags": '{"tags": {"owner": "us"}}'})
    vpc = account.create("Vpc", "v", cidrBlock="10.0.0.0/16", tags={"a": "b"})
    tamper.change(account.cloud_state, _record(account, vpc), {"tags.a": "c"})
    assert _read(account, vpc)[1]["tagsAll"] == {"owner": "us", "a": "c"}


def test_a_removed_resource_is_gone_with_its_parts_and_its_name_is_free(account) -> None:
    bucket = account.create("Bucket", "b", bucket="mine")
    stored = account.create("BucketObjectv2", "o", bucket=bucket.id, key="k", content="x")
    tamper.remove(account.cloud_state, _record(account, bucket))
    assert _read(account, bucket) is None
    assert _read(account, stored) is None
    assert account.cloud_state.objects("mine") == {}
    account.create("Bucket", "b", bucket="mine")


def test_a_removed_object_and_a_removed_secret_leave_nothing_to_read(account) -> None:
    bucket, secret = account.create("Bucket", "b"), account.create("Secret", "s")
    stored = account.create("BucketObjectv2", "o", bucket=bucket.id, key="k", content="x")
    version = account.create("SecretVersion", "v", secretId=secret.id, secretString="value")
    for thing in (stored, version):
        tamper.remove(account.cloud_state, _record(account, thing))
    assert account.cloud_state.objects(bucket.id) == {}
    assert account.cloud_state.secret_values(secret.id) == {}


def test_a_changed_object_has_its_new_content_and_etag(account) -> None:
    bucket = account.create("Bucket", "b")
    stored = account.create("BucketObjectv2", "o", bucket=bucket.id, key="k", content="old")
    tamper.change(account.cloud_state, _record(account, stored), {"content": "new"})
    assert account.cloud_state.objects(bucket.id)["k"].content == b"new"
    assert _read(account, stored)[1]["etag"] != stored.outputs["etag"]


def test_a_resource_removed_behind_the_engines_back_is_deleted_without_error(account, machine) -> None:
    thing = machine()
    tamper.remove(account.cloud_state, _record(account, thing))
    account.delete(thing)
