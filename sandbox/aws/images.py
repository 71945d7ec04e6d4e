"""Images that the account makes of its instances."""

import re
from typing import Any

from sandbox.aws.network import INSTANCE
from sandbox.aws.regions import WINDOWS, images
from sandbox.cloud import AutoName, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState

AMI = "aws:ec2/amiFromInstance:AmiFromInstance"
_NAME, _DISK = re.compile(r"[\w()\[\] ./\-'@]{3,128}", re.ASCII), "snap-0{hex:16:disk}"
_SOURCE, _SIZE = "image:{}", "image-disk:{}"
"""The settings with the public image that an image goes back to, and with the GiB of its disk: its instance may be
gone."""


def source(cloud_state: CloudState, region: str, ami: str) -> str:
    """Return the parameter of the public image that an image is, or goes back to; empty if the region has none.

    A deregistered image is as good as none (InvalidAMIID.NotFound).
    """
    if ami in images(region):
        return images(region)[ami]
    made = cloud_state.find(AMI, ami)
    return (cloud_state.setting(_SOURCE.format(ami)) or "") if made and made.region == region else ""


def disk_gb(cloud_state: CloudState, region: str, ami: str) -> int:
    """Return the GiB of an image's disk: 30 of Windows Server, 8 of Ubuntu, its instance's of an own image."""
    own = cloud_state.setting(_SIZE.format(ami))
    return int(own) if own else 30 if source(cloud_state, region, ami).startswith(WINDOWS) else 8


def _instance(request: Request) -> None:
    """Check that the instance is in the region. A change asks for none: the image stays when its instance is gone."""
    id_ = request.inputs.get("sourceInstanceId", "")
    found = request.cloud_state.find(INSTANCE, id_)
    if request.old is None and (found is None or found.region != request.region):
        raise Refusal("InvalidInstanceID.NotFound", f"The instance ID '{id_}' does not exist")


def _name(request: Request) -> None:
    """Check the name's form (EC2 API reference, "CreateImage", Name)."""
    if not _NAME.fullmatch(request.inputs["name"]):
        raise Refusal(
            "InvalidAMIName.Malformed",
            "AMI names must be between 3 and 128 characters long, and may contain"
            " letters, numbers, '(', ')', '.', '-', '/' and '_'",
        )


def _outputs(request: Request) -> dict[str, Any]:
    """Return what an image has of its instance, when it is made."""
    instance = request.cloud_state.find(INSTANCE, request.inputs["sourceInstanceId"])
    if request.old or instance is None:
        return {}
    windows = source(request.cloud_state, request.region, instance.inputs.get("ami") or "").startswith(WINDOWS)
    return {
        "platform": "windows" if windows else "",
        "rootDeviceName": "/dev/sda1",
        "rootSnapshotId": request.format(_DISK),
    }


def _remember(request: Request) -> None:
    instance = request.cloud_state.find(INSTANCE, request.inputs["sourceInstanceId"])
    if request.old is None and instance:
        of_instance = request.cloud_state, request.region, instance.inputs.get("ami") or ""
        size = (instance.inputs.get("rootBlockDevice") or {}).get("volumeSize") or disk_gb(*of_instance)
        request.cloud_state.set_setting(_SOURCE.format(request.id), source(*of_instance))
        request.cloud_state.set_setting(_SIZE.format(request.id), str(size))


TYPES: dict[str, ResourceType] = {
    AMI: ResourceType(
        id="ami-0{hex:16}",
        immutable=("name", "sourceInstanceId", "snapshotWithoutReboot", "ebsBlockDevices", "ephemeralBlockDevices"),
        chosen=("ebsBlockDevices", "ephemeralBlockDevices"),
        fallback={"snapshotWithoutReboot": False},
        outputs={"arn": "arn:aws:ec2:{region}::image/{id}", "ownerId": "{account}"},
        derive=_outputs,
        auto_name=AutoName(limit=128),
        unique=(
            Unique(
                "AMI",
                ("name",),
                "InvalidAMIName.Duplicate",
                "AMI name {in_.name} is already in use by another AMI",
                regional=True,
            ),
        ),
        rules=(_instance, _name),
        created=_remember,
    ),
}
