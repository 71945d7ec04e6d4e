"""Rights of control planes on the bucket with copies of snapshots, which is the user's (`snapshots.copy_to`)."""

from typing import Any

from components.catalogue import regions
from components.spec.snapshots import SnapshotCopy, copy_folder


def statements(cluster: str, copied: SnapshotCopy) -> list[dict[str, Any]]:
    """Return the policy statements: create, read and list this cluster's copies, but not change or delete them.

    The bucket has to belong to the cluster's account, or to the one in the stack file: accounts share the names of
    buckets, so somebody else could make one of this name before its owner does, or after its owner deleted it
    (aws:ResourceAccount; IAM user guide, "AWS global condition context keys").

    A write has to be refused if the object exists. Requests of an upload in parts take no such condition, except the
    one that completes it (Amazon S3 user guide, "Enforce conditional writes on Amazon S3 buckets").
    AbortMultipartUpload deletes parts of an upload that was not completed, and no object.
    """
    bucket = f"arn:{regions.partition(copied.region)}:s3:::{copied.bucket}"
    prefix = f"{copy_folder(cluster)}etcd/"
    owned = {"aws:ResourceAccount": copied.account or "${aws:PrincipalAccount}"}
    creates, conditional = {"s3:ObjectCreationOperation": "true"}, {"s3:if-none-match": "false"}
    parts = ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
    rows: tuple[tuple[list[str], str, dict[str, Any]], ...] = (
        (["s3:PutObject"], f"{bucket}/{prefix}*", {"Bool": creates, "Null": conditional}),
        (["s3:PutObject"], f"{bucket}/{prefix}*", {"Bool": {"s3:ObjectCreationOperation": "false"}}),
        (["s3:GetObject", *parts], f"{bucket}/{prefix}*", {}),
        (["s3:ListBucket"], bucket, {"StringEquals": {**owned, "s3:prefix": prefix}}),
    )
    return [
        {"Effect": "Allow", "Action": actions, "Resource": [resource], "Condition": {"StringEquals": owned, **when}}
        for actions, resource, when in rows
    ]
