"""Rights of control planes for the storage driver of EBS: on volumes and snapshots of their own cluster alone."""

from collections.abc import Mapping
from typing import Any

from components.aws.cloud_controller import CLUSTER_TAG
from components.plan import ClusterPlan
from components.spec.choices import StorageDriver

MACHINE_TAG = "mullion:cluster"
"""Tag of the cluster's machines, to which alone the driver attaches volumes."""

READS = tuple(
    f"ec2:Describe{what}"
    for what in (
        *("AvailabilityZones", "Instances", "InstanceTypes", "Snapshots", "Volumes", "VolumesModifications"),
        "VolumeStatus",
    )
)
"""Actions that read; they support no resource-level permissions."""

CHANGES = ("ec2:AttachVolume", "ec2:CreateSnapshot", "ec2:DeleteVolume", "ec2:DetachVolume", "ec2:ModifyVolume")
"""Actions on the driver's own volumes."""

TAGGED = ("ec2:CreateSnapshot", "ec2:CreateTags", "ec2:CreateVolume")
"""Actions that set tags."""

SOURCE = "kubernetes-sigs/aws-ebs-csi-driver v1.63.1, docs/AmazonEBSCSIDriverEKSClusterScopedPolicy.json"
"""Source of the actions: AWS's policy for one cluster, without clones of volumes (CopyVolumes), locks of snapshots,
fast restores, and changes of tags. It compares the tag ebs.csi.aws.com/cluster-name; the driver sets the one used here
beside it (--k8s-tag-cluster-id, docs/tagging.md). Actions on the key: Amazon EBS user guide, "Requirements for Amazon
EBS encryption"."""

_OURS = {"ForAnyValue:StringLike": {"aws:TagKeys": ["mullion:*"]}}


def is_used(plan: ClusterPlan) -> bool:
    """Return whether the cluster has the storage driver of EBS."""
    return StorageDriver.EBS in plan.spec.csi


def statements(cluster: str, partition: str, *, key: str | None = None) -> list[dict[str, Any]]:
    """Return the policy statements of the control plane for the driver.

    It creates volumes and snapshots with the cluster's tag, and changes only those. key: ARN of the user's key, which
    EC2 uses with the machine's rights.
    """
    tag = f"{CLUSTER_TAG}{cluster}"
    volumes, snapshots, machines = (
        [f"arn:{partition}:ec2:*:*:{kind}/*"] for kind in ("volume", "snapshot", "instance")
    )
    made, own = {f"aws:RequestTag/{tag}": "owned"}, {f"aws:ResourceTag/{tag}": "owned"}
    return [
        _allow(READS, ["*"]),
        _allow(("ec2:CreateVolume",), volumes, made),
        _allow(("ec2:CreateSnapshot",), snapshots, made),
        _allow(CHANGES, volumes, own),
        _allow(("ec2:CreateVolume", "ec2:DeleteSnapshot"), snapshots, own),
        _allow(("ec2:AttachVolume", "ec2:DetachVolume"), machines, {f"aws:ResourceTag/{MACHINE_TAG}": cluster}),
        _allow(
            ("ec2:CreateTags",),
            [*volumes, *snapshots],
            {**made, "ec2:CreateAction": ["CreateSnapshot", "CreateVolume"]},
        ),
        {"Effect": "Deny", "Action": list(TAGGED), "Resource": ["*"], "Condition": _OURS},
        *(_uses(key) if key else []),
    ]


def _allow(actions: tuple[str, ...], resources: list[str], equal: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": resources}
    return {**found, "Condition": {"StringEquals": dict(equal)}} if equal else found


def _uses(key: str) -> list[dict[str, Any]]:
    """Return the statements for a key of the user's, by EC2 only, and grants of it to AWS's services only."""
    service = {"StringLike": {"kms:ViaService": [f"ec2.{key.split(':')[3]}.*"]}}
    actions = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext"]
    uses = {"Effect": "Allow", "Action": actions, "Resource": [key], "Condition": service}
    grants = {**service, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    return [uses, {"Effect": "Allow", "Action": ["kms:CreateGrant"], "Resource": [key], "Condition": grants}]
