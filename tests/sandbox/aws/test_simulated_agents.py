"""Simulated control planes follow the desired-state pointer and report the version that they reached."""

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import pytest

from components.machine import user_data
from components.rollout.signed_documents import pointer_document
from sandbox.aws.boot_obstacles import MACHINES
from sandbox.aws.cloud import AWS
from sandbox.simulated_agents import POINTER
from sandbox.simulated_boot import settling
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import AMI, TRUST

STORE = "https://bundles.s3.eu-west-1.amazonaws.com"
KEY = "the key of the pointer"
BEGUN = "1.35.4"


def plan(version: str) -> str:
    """Return a bundle's plan with a download of this version."""
    return json.dumps({"url": f"https://dl.k8s.io/release/v{version}/bin/linux/amd64/kubelet"})


def bundle(version: str) -> bytes:
    """Return a bundle of this version."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("plan.json", plan(version))
    return buffer.getvalue()


class PointerFollower:
    """A control plane that runs BEGUN, and its pointer."""

    def __init__(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        self.account = account
        anywhere = replace(MACHINES, obstacles=())  # tested in test_simulated_boot.py
        account.provider.cloud = replace(AWS, settle=settling(anywhere))
        monkeypatch.setattr("sandbox.simulated_boot._bundle", lambda *_: "")
        monkeypatch.setattr("sandbox.simulated_boot._kubernetes", lambda *_: BEGUN)
        vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16").id
        zone = {"cidrBlock": "10.20.0.0/24", "availabilityZone": "eu-west-1a"}
        subnet = account.create("Subnet", "subnet", vpcId=vpc, **zone).id
        account.create("Bucket", "bucket", bucket="bundles")
        role = account.create("Role", "role", name="node", assumeRolePolicy=TRUST)
        rows = [("s3:GetObject", "bundles/*"), ("s3:PutObject", "bundles/status/${aws:userid}.json")]
        statements = [
            {"Effect": "Allow", "Action": action, "Resource": f"arn:aws:s3:::{resource}"} for action, resource in rows
        ]
        policy = {"Version": "2012-10-17", "Statement": statements}
        self.policy = account.create("RolePolicy", "policy", role=role.id, policy=json.dumps(policy))
        account.create("InstanceProfile", "profile", name="node", role=role.id)
        secret = account.create("Secret", "key", name="pointer-key")
        self.key = account.create("SecretVersion", "key", secretId=secret.id, secretString=KEY)
        self.pointer: Thing | None = None
        facts = {
            "bundle_store": STORE,
            "status_url": f"{STORE}/status/{role.outputs['uniqueId']}%3A",
            "desired_state_secret": "pointer-key",
        }
        document = user_data.document(f"{STORE}/bundles/x.zip", "0" * 64, {"name": "control-plane-0"}, facts)
        given = {"ami": AMI, "instanceType": "m6i.large", "subnetId": subnet, "iamInstanceProfile": "node"}
        self.machine = account.create(
            "Instance", "control-plane-0", **given, userData=user_data.user_data("linux", document, "aws")
        )
        self.role = role

    def point(self, version: str, serial: int, key: str = KEY) -> None:
        """Write the pointer."""
        content = pointer_document(key, f"{STORE}/bundles/{version}.zip", "1" * 64, version, serial, BEGUN)
        if self.pointer is None:
            self.pointer = self.account.create(
                "BucketObjectv2", "pointer", bucket="bundles", key=POINTER, content=content
            )
        else:
            self.pointer = self.account.update(self.pointer, content=content)

    def says(self) -> dict[str, Any]:
        """The control plane's status record."""
        key = f"status/{self.role.outputs['uniqueId']}:{self.machine.id}.json"
        stored = self.account.cloud_state.object("bundles", key)
        assert stored is not None
        return json.loads(stored.content)


@pytest.fixture
def follower(account: Account, monkeypatch: pytest.MonkeyPatch) -> PointerFollower:
    return PointerFollower(account, monkeypatch)


def test_a_control_plane_starts_with_its_bundles_version_and_follows_the_pointer(follower: PointerFollower) -> None:
    assert (follower.says()["kubernetes"], follower.says()["bundle"]) == (BEGUN, "0" * 64)
    for serial, version in enumerate(("1.35.5", "1.36.4", "1.36.4"), start=1):
        follower.point(version, serial)
        assert (follower.says()["kubernetes"], follower.says()["bundle"]) == (version, "1" * 64)


@pytest.mark.parametrize(
    ("version", "serial", "key", "reason"),
    [
        ("1.36.4", 5, "another key", "the MAC does not match the desired-state key"),
        ("1.36.4", 1, KEY, "its serial 1 is older than 2"),
        ("1.37.0", 5, KEY, "it asks for 1.37.0 from 1.35.4, and a hop is one minor version"),
        ("1.34.4", 5, KEY, "it asks for 1.34.4 from 1.35.4, and a hop is one minor version"),
    ],
)
def test_an_invalid_pointer_changes_nothing_and_is_reported(
    follower: PointerFollower, version: str, serial: int, key: str, reason: str
) -> None:
    follower.point(BEGUN, 2)
    follower.point(version, serial, key)
    assert follower.says()["kubernetes"] == BEGUN
    assert follower.says()["message"] == f"the desired-state pointer is refused: {reason}"


def test_a_pointer_is_applied_once_its_key_is_there(follower: PointerFollower) -> None:
    """The order in which pointer and key change does not matter."""
    follower.point("1.36.4", 3, "a newer key")
    assert follower.says()["kubernetes"] == BEGUN
    follower.account.update(follower.key, secretString="a newer key")
    assert follower.says()["kubernetes"] == "1.36.4"


def test_a_control_plane_without_the_right_to_read_the_pointer_does_not_change(follower: PointerFollower) -> None:
    elsewhere = {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::bundles/status/*"}
    follower.account.update(follower.policy, policy=json.dumps({"Version": "2012-10-17", "Statement": elsewhere}))
    follower.point("1.36.4", 3)
    assert follower.says()["kubernetes"] == BEGUN
    assert "may not s3:GetObject on arn:aws:s3:::bundles/desired-state.json" in follower.says()["message"]


def test_a_deleted_control_plane_does_not_follow_the_pointer(follower: PointerFollower) -> None:
    follower.account.delete(follower.machine)
    follower.point("1.36.4", 3)
    assert follower.says()["kubernetes"] == BEGUN
