"""Volumes and snapshots of EBS, which storage drivers make.

Sources: Amazon EC2 API reference, "CreateVolume", "CreateSnapshot", "DeleteVolume".
"""

import re

from sandbox.cloud import Refusal, Request, ResourceType

VOLUME, SNAPSHOT = "aws:ebs/volume:Volume", "aws:ebs/snapshot:Snapshot"


def _volume(request: Request) -> None:
    """Check that the volume exists, when a snapshot of it is made; it may be deleted later."""
    id_ = request.inputs.get("volumeId", "")
    found = request.cloud_state.find(VOLUME, id_)
    if request.old is None and (found is None or found.region != request.region):
        raise Refusal("InvalidVolume.NotFound", f"The volume '{id_}' does not exist.")


TYPES: dict[str, ResourceType] = {
    VOLUME: ResourceType(
        id="vol-0{hex:16}",
        immutable=("availabilityZone", "encrypted", "kmsKeyId", "multiAttachEnabled", "outpostArn", "snapshotId"),
        chosen=("size", "type", "iops", "throughput", "kmsKeyId"),
        at_least_one=(("size", "snapshotId"),),
        ranges={"size": (1, 65536)},
        patterns={"type": (re.compile("standard|io[12]|gp[23]|sc1|st1"), "a type of volumes of EBS")},
        outputs={"arn": "arn:aws:ec2:{region}:{account}:volume/{id}"},
    ),
    SNAPSHOT: ResourceType(
        id="snap-0{hex:16}",
        immutable=("volumeId", "description", "outpostArn"),
        chosen=("storageTier",),
        outputs={"arn": "arn:aws:ec2:{region}::snapshot/{id}", "ownerId": "{account}"},
        rules=(_volume,),
    ),
}
