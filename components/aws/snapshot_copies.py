"""Rights of control planes on the bucket with copies of snapshots, which is the user's (`snapshots.copy_to`)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from components.catalogue import regions
from components.spec.snapshots import SnapshotCopy, copy_folder


def source(copied: SnapshotCopy, region: str, vpc: str, addresses: Sequence[str]) -> dict[str, Any]:
    """Return the conditions that a request comes from the cluster's network; empty if AWS has none for this way.

    region: of the cluster. vpc: id of the VPC through whose endpoint requests to S3 in this region go; empty for an
    existing VPC, whose ways are its owner's. addresses: of NAT gateways; S3 in another region sees these, and no VPC,
    because a gateway endpoint is for its own region (AWS PrivateLink guide, "Gateway endpoints for Amazon S3"). With
    `egress: public` it sees addresses of machines, which nobody knows before they exist.
    """
    if vpc and copied.region == region:
        return {"StringEquals": {"aws:SourceVpc": vpc}}
    return {"IpAddress": {"aws:SourceIp": sorted(addresses)}} if vpc and addresses else {}


def statements(
    cluster: str, copied: SnapshotCopy, source: Mapping[str, Any] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return the policy statements: create, read and list this cluster's copies, but not change or delete them.

    source: conditions on where requests come from.

    The bucket has to belong to the cluster's account, or to the one in the stack file: accounts share the names of
    buckets, so somebody else could make one of this name before its owner does, or after its owner deleted it
    (aws:ResourceAccount; IAM user guide, "AWS global condition context keys").

    A write has to be refused if the object exists. Requests of an upload in parts take no such condition, except the
    one that completes it (Amazon S3 user guide, "Enforce conditional writes on Amazon S3 buckets").
    AbortMultipartUpload deletes parts of an upload that was not completed, and no object.
    """
    bucket = f"arn:{regions.partition(copied.region)}:s3:::{copied.bucket}"
    prefix = f"{copy_folder(cluster)}etcd/"
    owned = {"aws:ResourceAccount": copied.account or "${aws:PrincipalAccount}", **source.get("StringEquals", {})}
    creates, conditional = {"s3:ObjectCreationOperation": "true"}, {"s3:if-none-match": "false"}
    parts = ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
    rows: tuple[tuple[list[str], str, dict[str, Any]], ...] = (
        (["s3:PutObject"], f"{bucket}/{prefix}*", {"Bool": creates, "Null": conditional}),
        (["s3:PutObject"], f"{bucket}/{prefix}*", {"Bool": {"s3:ObjectCreationOperation": "false"}}),
        (["s3:GetObject", *parts], f"{bucket}/{prefix}*", {}),
        (["s3:ListBucket"], bucket, {"StringEquals": {**owned, "s3:prefix": prefix}}),
    )
    return [
        {
            "Effect": "Allow",
            "Action": actions,
            "Resource": [resource],
            "Condition": {**source, "StringEquals": owned, **when},
        }
        for actions, resource, when in rows
    ]
