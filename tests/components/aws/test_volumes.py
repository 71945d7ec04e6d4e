"""What the driver of EBS may do: on volumes, snapshots and machines of its own cluster alone."""

import json
from typing import Any

import pytest

from components.aws import identity
from components.aws.volumes import CHANGES, READS, statements
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from policies.rules.permissions import WITHOUT_RESOURCES
from sandbox.aws.policies import refused
from tests.components.recorded_wiring import config, of

ROLE = "arn:aws:iam::123456789012:role/dev-control-plane"
TAG = "kubernetes.io/cluster/dev"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
VOLUME, SNAPSHOT, INSTANCE = (
    f"arn:aws:ec2:eu-west-1:123456789012:{each}" for each in ("volume/vol-1", "snapshot/snap-1", "instance/i-1")
)
MADE, OWN = {f"aws:RequestTag/{TAG}": "owned"}, {f"aws:ResourceTag/{TAG}": "owned"}
OTHERS = {"aws:ResourceTag/kubernetes.io/cluster/other": "owned"}


def may(action: str, resource: str, context: dict[str, str], **options: Any) -> bool:
    policy = {"Version": "2012-10-17", "Statement": statements("dev", "aws", **options)}
    return not refused([policy], action, resource, ROLE, context)


@pytest.mark.parametrize("action", READS)
def test_sto_03_the_driver_reads_what_has_no_resources(action: str) -> None:
    assert may(action, "*", {}) and action in WITHOUT_RESOURCES


@pytest.mark.parametrize("action", CHANGES)
def test_sto_03_the_driver_changes_volumes_of_its_cluster_only(action: str) -> None:
    assert may(action, VOLUME, OWN)
    assert not may(action, VOLUME, OTHERS)
    assert not may(action, VOLUME, {f"aws:ResourceTag/{TAG}": "shared"}), "a machine's own disk may have this tag"
    assert not may(action, VOLUME, {})


def test_sto_03_the_driver_attaches_only_to_machines_of_its_cluster() -> None:
    for action in ("ec2:AttachVolume", "ec2:DetachVolume"):
        assert may(action, INSTANCE, {"aws:ResourceTag/mullion:cluster": "dev"})
        assert not may(action, INSTANCE, {"aws:ResourceTag/mullion:cluster": "other"})
        assert not may(action, INSTANCE, OWN)


def test_sto_03_the_driver_creates_with_the_clusters_tag_and_restores_its_own_snapshots_only() -> None:
    assert may("ec2:CreateVolume", VOLUME, MADE) and not may("ec2:CreateVolume", VOLUME, {})
    assert may("ec2:CreateVolume", SNAPSHOT, OWN) and not may("ec2:CreateVolume", SNAPSHOT, OTHERS)
    assert may("ec2:CreateSnapshot", SNAPSHOT, MADE) and not may("ec2:CreateSnapshot", SNAPSHOT, {})
    assert may("ec2:CreateSnapshot", VOLUME, OWN) and not may("ec2:CreateSnapshot", VOLUME, {})
    assert may("ec2:DeleteSnapshot", SNAPSHOT, OWN) and not may("ec2:DeleteSnapshot", SNAPSHOT, OTHERS)


@pytest.mark.parametrize(("resource", "creates"), [(VOLUME, "CreateVolume"), (SNAPSHOT, "CreateSnapshot")])
def test_sto_03_the_driver_tags_only_what_it_creates_and_never_with_mullions_tags(resource: str, creates: str) -> None:
    creation = {**MADE, "ec2:CreateAction": creates}
    assert may("ec2:CreateTags", resource, creation)
    assert not may("ec2:CreateTags", resource, MADE), "so it cannot take over another's"
    assert not may("ec2:CreateTags", resource, {**creation, "aws:RequestTag/mullion:cluster": "other"})
    assert not may(f"ec2:{creates}", resource, {**MADE, "aws:RequestTag/mullion:expires": "8h"})


def test_sto_03_the_users_key_is_used_by_ec2_alone() -> None:
    by_ec2, by_s3 = ({"kms:ViaService": f"{each}.eu-west-1.amazonaws.com"} for each in ("ec2", "s3"))
    for action in ("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext"):
        assert may(action, KEY, by_ec2, key=KEY)
        assert not may(action, KEY, by_s3, key=KEY) and not may(action, KEY, by_ec2)
    grant = {**by_ec2, "kms:GrantIsForAWSResource": "true"}
    assert may("kms:CreateGrant", KEY, grant, key=KEY)
    assert not may("kms:CreateGrant", KEY, by_ec2, key=KEY)


def test_sto_03_only_the_control_planes_role_gets_the_drivers_rights() -> None:
    spec = {**config("aws-dev")[CLUSTER], "csi": ["ebs"]}
    found = of(record("aws-dev", {**config("aws-dev"), CLUSTER: spec}), "aws:iam/rolePolicy:RolePolicy")
    actions = {
        name: {action for row in json.loads(each.inputs["policy"])["Statement"] for action in row["Action"]}
        for name, each in found.items()
    }
    assert {name for name, listed in actions.items() if "ec2:CreateVolume" in listed} == {"aws-dev-control-plane"}


def test_sto_03_all_rights_of_a_control_plane_fit_the_limit_of_a_roles_policies() -> None:
    """IAM counts 10240 characters without spaces (IAM user guide, "IAM and AWS STS quotas")."""
    spec = {**config("aws-prod")[CLUSTER], "csi": ["ebs"], "cloud_controller": "external", "encryption_key": KEY}
    spec |= {"registry_credentials": ["ecr"], "access": "session"}
    whole = {**config("aws-prod"), CLUSTER: spec}
    found = of(record("a" * 26, whole), "aws:iam/rolePolicy:RolePolicy")
    sizes = [len(each.inputs["policy"].replace(" ", "")) for each in found.values()]
    assert max(sizes) < 10_240


def test_sto_03_rights_that_iam_would_not_take_are_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "LONGEST", 3000)
    spec = {**config("aws-dev")[CLUSTER], "csi": ["ebs"]}
    errors = "\n".join(record("aws-dev", {**config("aws-dev"), CLUSTER: spec}).errors)
    assert "IAM accepts 3000 for a role" in errors and "leave out one of cloud_controller, csi" in errors
