"""Functions of the provider that read the cloud state, as strict as the real ones."""

import asyncio
from typing import Any

import pytest

from operations.clouds import aws
from sandbox.aws.reads import READS
from sandbox.cloud import Refusal
from tests.sandbox.account import Account


@pytest.fixture
def invoke(account: Account) -> Any:
    tokens = {token.rsplit(":", 1)[-1]: token for token in READS}
    return lambda short, **arguments: account.provider.invoke(tokens[short], arguments)


@pytest.mark.parametrize(
    ("kind", "readable"),
    [("application/json", True), ("text/plain", True), ("application/octet-stream", False), ("application/zip", False)],
)
def test_an_object_has_a_body_if_its_content_is_text(
    account: Account, invoke: Any, kind: str, *, readable: bool
) -> None:
    account.create("Bucket", "b", bucket="store")
    account.create("BucketObjectv2", "o", bucket="store", key="a/b", content="{}", contentType=kind)
    found = invoke("getObject", bucket="store", key="a/b")
    assert (found["contentType"], found["contentLength"]) == (kind, 2)
    assert found.get("body") == ("{}" if readable else None)


def test_a_range_cuts_the_body_and_not_the_length(account: Account, invoke: Any) -> None:
    account.create("Bucket", "b", bucket="store")
    account.create("BucketObjectv2", "o", bucket="store", key="a", content="0123456789", contentType="text/plain")
    found = invoke("getObject", bucket="store", key="a", range="bytes=0-3")
    assert (found["body"], found["contentLength"]) == ("0123", 10)
    assert invoke("getObject", bucket="store", key="a", range="bytes=0-99")["body"] == "0123456789"
    with pytest.raises(Refusal, match="InvalidRange"):
        invoke("getObject", bucket="store", key="a", range="bytes=10-99")


@pytest.mark.parametrize("bucket", ["store", "nowhere"])
def test_an_unknown_object_is_not_found(account: Account, invoke: Any, bucket: str) -> None:
    account.create("Bucket", "b", bucket="store")
    with pytest.raises(Refusal, match=r"Object \(x\): couldn't find resource"):
        invoke("getObject", bucket=bucket, key="x")


def test_objects_are_listed_by_prefix_in_order(account: Account, invoke: Any) -> None:
    account.create("Bucket", "b", bucket="store")
    for number, key in enumerate(("etcd/2", "etcd/1", "founding/0")):
        account.create("BucketObjectv2", f"o{number}", bucket="store", key=key, content="x")
    assert invoke("getObjects", bucket="store", prefix="etcd/")["keys"] == ["etcd/1", "etcd/2"]
    assert invoke("getObjects", bucket="store", maxKeys=1)["keys"] == ["etcd/1"]
    with pytest.raises(Refusal, match="The specified bucket does not exist"):
        invoke("getObjects", bucket="nowhere")


def test_all_keys_of_a_bucket_are_read_page_by_page(
    account: Account, invoke: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may create objects could add names that sort before those of the newest snapshots."""
    asked = list[str]()

    class Calls:
        async def invoke(self, token: str, arguments: dict[str, Any]) -> Any:
            asked.append(arguments.get("startAfter", ""))
            return invoke(token.rsplit(":", 1)[-1], **arguments)

    monkeypatch.setattr(aws, "PAGE", 2)
    account.create("Bucket", "b", bucket="store")
    keys = [f"etcd/{number}" for number in range(4)]
    for number, key in enumerate([*keys, "founding/0"]):
        account.create("BucketObjectv2", f"o{number}", bucket="store", key=key, content="x")
    calls: Any = Calls()
    assert asyncio.run(aws.all_keys(calls, "store", account.provider.place.region, "etcd/")) == keys
    assert asked == ["", "etcd/1", "etcd/3"]


def test_instances_are_found_by_network_tag_and_state(invoke: Any, network: Any, machine: Any) -> None:
    made = machine("m0", tags={"mullion:pool": "web"})
    vpc = {"name": "vpc-id", "values": [network.vpc.id]}
    found = invoke("getInstances", filters=[vpc], instanceStateNames=["pending", "running"])
    assert (found["ids"], found["privateIps"]) == ([made.id], [made.outputs["privateIp"]])
    assert invoke("getInstances", instanceTags={"mullion:pool": "web"})["ids"] == [made.id]
    for none in (
        {"filters": [{**vpc, "values": ["vpc-1"]}]},
        {"instanceTags": {"mullion:pool": "x"}},
        {"instanceStateNames": ["stopped"]},
        {"region": "us-east-1"},
    ):
        assert invoke("getInstances", **none)["ids"] == []


def test_an_instance_has_its_launch_time(invoke: Any, machine: Any) -> None:
    made = machine("m0")
    assert invoke("getInstance", instanceId=made.id)["launchTime"].endswith("Z")
    with pytest.raises(Refusal, match=r"InvalidInstanceID\.NotFound"):
        invoke("getInstance", instanceId="i-1")


@pytest.mark.parametrize(
    ("short", "arguments", "said"),
    [
        ("getObject", {"bucket": "b", "key": "k", "versionId": "1"}, "not versionId"),
        ("getObjects", {"bucket": "b", "delimiter": "/"}, "not delimiter"),
        ("getInstances", {"filters": [{"name": "vpc", "values": []}]}, "The filter 'vpc' is invalid"),
        ("getInstance", {"instanceId": "i", "instanceTags": {}}, "not instanceTags"),
    ],
)
def test_arguments_that_the_sandbox_does_not_support_are_refused(
    invoke: Any, machine: Any, short: str, arguments: dict[str, Any], said: str
) -> None:
    machine("m0")
    with pytest.raises(Refusal, match=said):
        invoke(short, **arguments)
