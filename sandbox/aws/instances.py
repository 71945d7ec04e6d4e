"""EC2 instances."""

import base64
import binascii
import re
from typing import Any

from sandbox.aws import addresses, boot_obstacles, images, keys, offerings
from sandbox.aws.network import GROUP, INSTANCE, in_groups, in_subnet
from sandbox.aws.quotas import QUOTAS, vcpus
from sandbox.cloud import Reference, Refusal, Request, ResourceType

LARGEST_VOLUME = {"gp3": 65536, "io2": 65536, "standard": 1024}
"""Largest volume in GiB by type (EBS user guide, "Amazon EBS volume types"); the other types have 16,384."""
USER_DATA_LIMIT = 16384
"""Largest user-data in bytes before base64 (EC2 user guide, "Run commands when you launch an EC2 instance")."""


def _user_data(request: Request) -> None:
    """Check the size of user-data, which the provider encodes unless it is base64."""
    encoded, raw = request.inputs.get("userDataBase64"), request.inputs.get("userData", "").encode()
    try:
        raw = base64.b64decode(encoded, validate=True) if encoded else raw
    except binascii.Error:
        raise Refusal("InvalidParameterValue", "Invalid BASE64 encoding of user data.") from None
    if len(raw) > USER_DATA_LIMIT:
        raise Refusal(
            "InvalidParameterValue", f"User data is limited to {USER_DATA_LIMIT} bytes; this one has {len(raw)}"
        )


def _image(request: Request) -> None:
    ami = request.inputs.get("ami", "")
    if ami and not re.fullmatch(r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})", ami):
        raise Refusal("InvalidAMIID.Malformed", f'Invalid id: "{ami}"')
    if ami and not _source(request):
        raise Refusal("InvalidAMIID.NotFound", f"The image id '[{ami}]' does not exist")


def _source(request: Request) -> str:
    return images.source(request.cloud_state, request.region, request.inputs.get("ami", ""))


def _kind(request: Request) -> None:
    """Check that the instance type exists, its architecture is the image's, and the zone offers it."""
    name, image = request.inputs.get("instanceType", ""), _source(request)
    if not name:
        return
    if not offerings.exists(name):
        raise Refusal("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    have, want = offerings.architecture(name), "arm64" if image and "/arm64/" in image else "x86_64"
    if image and have != want:
        raise Refusal(
            "InvalidParameterValue",
            f"The architecture '{have}' of the specified instance type does not match the architecture '{want}' of the"
            " specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.",
        )
    subnet = request.cloud_state.find(addresses.SUBNET, request.inputs.get("subnetId", ""))
    zone, offered = subnet.outputs["availabilityZone"] if subnet else "", offerings.offering(request.region, name)
    if zone and zone not in offered:
        raise Refusal(
            "Unsupported",
            f"Your requested instance type ({name}) is not supported in your requested Availability Zone ({zone})."
            f" Please retry your request by not specifying an Availability Zone or choosing {', '.join(offered)}.",
        )


def _volumes(request: Request) -> None:
    """Check all disks, and that no two have one name (EC2 API reference, BlockDeviceMapping)."""
    further = request.inputs.get("ebsBlockDevices") or []
    for disk in (request.inputs.get("rootBlockDevice") or {}, *further):
        _volume(disk)
    names = [each["deviceName"] for each in further]
    for name in names:
        if names.count(name) > 1 or name in ("/dev/sda1", "/dev/xvda"):
            raise Refusal("InvalidBlockDeviceMapping", f"Duplicate device name '{name}'.")
        if not re.fullmatch(r"/dev/(sd[b-z]|xvd[b-z]{1,2})", name):
            raise Refusal("InvalidParameterValue", f"Value ({name}) for parameter device is invalid.")


def _volume(disk: dict[str, Any]) -> None:
    """Check disk figures that the provider accepts and EC2 refuses: gp3's ratios, and IOPS for types without them."""
    kind, iops, throughput = disk.get("volumeType", "gp2"), disk.get("iops"), disk.get("throughput")
    size = disk.get("volumeSize")
    if iops is not None and kind not in ("gp3", "io1", "io2"):
        raise Refusal("InvalidParameterCombination", f"The parameter iops is not supported for {kind} volumes.")
    if throughput is not None and kind != "gp3":
        raise Refusal("InvalidParameterCombination", f"The parameter throughput is not supported for {kind} volumes.")
    if kind == "gp3" and iops is not None and size is not None and iops > max(3000, 500 * size):
        raise Refusal(
            "InvalidParameterValue", f"The iops to volume size ratio is too high; at most 500 a GiB, not {iops}"
        )
    if kind == "gp3" and throughput is not None and throughput > (iops or 3000) / 4:
        raise Refusal(
            "InvalidParameterValue", f"Throughput (MiBps) to iops ratio is too high; at most 0.25, not {throughput}"
        )
    if kind in ("io1", "io2") and iops is None:
        raise Refusal("MissingParameter", f"The parameter iops must be specified for {kind} volumes.")
    if kind == "io2" and iops is not None and size is not None and iops > 1000 * size:
        raise Refusal("InvalidParameterValue", f"Iops to volume size ratio is too high; at most 1000 a GiB, not {iops}")
    if size is not None and size > LARGEST_VOLUME.get(kind, 16384):
        raise Refusal("InvalidParameterValue", f"Volume size {size} GiB is too large for {kind}")


def _processor(request: Request) -> None:
    """Refuse nested virtualization on instance types without it (EC2 API reference, CpuOptionsRequest)."""
    asked = (request.inputs.get("cpuOptions") or {}).get("nestedVirtualization")
    name = str(request.inputs.get("instanceType"))
    if asked == "enabled" and (".metal" in name or not re.match(r"[cmr]8i(-flex)?\.", name)):
        raise Refusal(
            "InvalidParameterCombination",
            f"The instance type '{name}' does not support nested virtualization.",
        )


def _market(request: Request) -> None:
    """Refuse spot requests that EC2 refuses (EC2 API reference, SpotMarketOptions)."""
    spot = (request.inputs.get("instanceMarketOptions") or {}).get("spotOptions") or {}
    behaviour = spot.get("instanceInterruptionBehavior") or "terminate"
    if spot.get("spotInstanceType", "one-time") == "one-time" and behaviour != "terminate":
        raise Refusal(
            "InvalidParameterCombination",
            f"The instance interruption behavior '{behaviour}' is not supported for one-time Spot requests.",
        )


def _groups(request: Request) -> None:
    QUOTAS.refuse_over(request, "security groups per interface", len(request.inputs.get("vpcSecurityGroupIds") or []))


def _key_pair(request: Request) -> None:
    """Refuse every key pair: Mullion opens no port 22."""
    if name := request.inputs.get("keyName"):
        raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{name}' does not exist")


def _protected(request: Request) -> None:
    if request.inputs.get("disableApiTermination") and not request.inputs.get("forceDestroy"):
        raise Refusal(
            "OperationNotPermitted",
            f"The instance '{request.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute"
            " and try again.",
        )


_KEY_IN_METADATA = re.compile(r"[0-9a-zA-Z\-_+=,.@:]{1,255}")
_RESERVED_IN_METADATA = (".", "..", "_index")


def _tags_in_metadata(request: Request) -> None:
    """Refuse tag keys that metadata cannot have, unless the request disables tags there: this account enables them.

    Source: EC2 user guide, "View tags for your EC2 instances using instance metadata".
    """
    if (request.inputs.get("metadataOptions") or {}).get("instanceMetadataTags") == "disabled":
        return
    for key in request.inputs.get("tags") or {}:
        if not _KEY_IN_METADATA.fullmatch(key) or key in _RESERVED_IN_METADATA:
            raise Refusal(
                "InvalidParameterValue",
                f"'{key}' is not a valid tag key. Tag keys must match pattern ('{_KEY_IN_METADATA.pattern}'), and must"
                f" not be a reserved name ({', '.join(map(repr, _RESERVED_IN_METADATA))})",
            )


def _root_volume(request: Request) -> None:
    """Check that the root volume is as large as the image."""
    size = (request.inputs.get("rootBlockDevice") or {}).get("volumeSize")
    least = images.disk_gb(request.cloud_state, request.region, request.inputs.get("ami") or "")
    if size is not None and size < least:
        raise Refusal(
            "InvalidBlockDeviceMapping",
            f"Volume of size {size}GB is smaller than the image's snapshot, expect size >= {least}GB",
        )


def _one_network(request: Request) -> None:
    """Check that security groups belong to the subnet's VPC, and that the zone is the subnet's."""
    subnet = request.cloud_state.find(addresses.SUBNET, request.inputs.get("subnetId", ""))
    if subnet is None:
        return
    for group in request.inputs.get("vpcSecurityGroupIds", []):
        record = request.cloud_state.find(GROUP, group)
        if record and record.inputs.get("vpcId") != subnet.inputs["vpcId"]:
            raise Refusal(
                "InvalidParameter", f"Security group {group} and subnet {subnet.id} belong to different networks."
            )
    zone = request.inputs.get("availabilityZone")
    if zone not in (None, subnet.outputs["availabilityZone"]):
        raise Refusal("InvalidParameterValue", f"The availability zone '{zone}' is not that of subnet '{subnet.id}'")


def _instance(request: Request) -> dict[str, Any]:
    if request.old:
        return {}
    subnet = request.cloud_state.find(addresses.SUBNET, request.inputs.get("subnetId", ""))
    private = request.inputs.get("privateIp") or addresses.free_address(request, subnet.id if subnet else "")
    wanted = request.inputs.get("associatePublicIpAddress")
    wanted = bool(subnet and subnet.outputs.get("mapPublicIpOnLaunch")) if wanted is None else wanted
    public = addresses.public_address(request, "public") if wanted else ""
    return {
        "privateIp": private,
        "privateDns": addresses.private_name(request, private),
        "publicIp": public,
        "publicDns": addresses.public_name(request, public) if public else "",
        "associatePublicIpAddress": wanted,
        "availabilityZone": subnet.outputs["availabilityZone"] if subnet else f"{request.region}a",
        **_mapped(request),
    }


def _mapped(request: Request) -> dict[str, Any]:
    """Return the further disks with the ids of their volumes; nothing without any."""
    disks = request.inputs.get("ebsBlockDevices") or []
    made = [{**disk, "volumeId": f"vol-0{request.digits(16, disk['deviceName'])}"} for disk in disks]
    return {"ebsBlockDevices": made} if made else {}


TYPES: dict[str, ResourceType] = {
    INSTANCE: ResourceType(
        id="i-0{hex:16}",
        immutable=(
            *("ami", "subnetId", "privateIp", "availabilityZone", "associatePublicIpAddress", "keyName", "tenancy"),
            *("ebsOptimized", "hibernation", "hostId", "ipv6Addresses", "ipv6AddressCount", "launchTemplate"),
            *("placementGroup", "placementGroupId", "securityGroups", "networkInterfaces", "ephemeralBlockDevices"),
            *("instanceMarketOptions", "enclaveOptions", "cpuOptions.coreCount", "cpuOptions.threadsPerCore"),
            *("cpuOptions.amdSevSnp", "rootBlockDevice.encrypted", "rootBlockDevice.kmsKeyId", "ebsBlockDevices"),
            *("primaryNetworkInterface", "secondaryNetworkInterfaces"),
        ),
        chosen=(
            *("ami", "privateIp", "availabilityZone", "associatePublicIpAddress", "tenancy", "rootBlockDevice"),
            *("vpcSecurityGroupIds", "securityGroups", "metadataOptions", "creditSpecification", "ebsOptimized"),
            *("instanceInitiatedShutdownBehavior", "maintenanceOptions", "monitoring", "privateDnsNameOptions"),
            *("capacityReservationSpecification", "cpuOptions", "enclaveOptions", "ebsBlockDevices", "subnetId"),
            *("disableApiStop", "disableApiTermination", "iamInstanceProfile", "keyName", "placementGroup"),
            *("secondaryPrivateIps", "ipv6Addresses", "ipv6AddressCount", "hostId", "userDataBase64"),
        ),
        fallback={"sourceDestCheck": True, "getPasswordData": False, "userDataReplaceOnChange": False},
        unordered=("vpcSecurityGroupIds", "securityGroups", "ebsBlockDevices"),
        outputs={
            "arn": "arn:aws:ec2:{region}:{account}:instance/{id}",
            "instanceState": "running",
            "primaryNetworkInterfaceId": "eni-0{hex:16:interface}",
            "tenancy": "default",
        },
        derive=_instance,
        at_most_one=(
            ("userData", "userDataBase64"),
            ("networkInterfaces", "subnetId"),
            ("networkInterfaces", "privateIp"),
            ("networkInterfaces", "vpcSecurityGroupIds"),
        ),
        at_least_one=(("ami", "launchTemplate"), ("instanceType", "launchTemplate")),
        patterns={
            "instanceType": (re.compile(r"[a-z0-9-]+\.[a-z0-9-]+"), "a family and a size, such as m6i.large"),
            "metadataOptions.httpTokens": (re.compile("optional|required"), "optional or required"),
            "metadataOptions.instanceMetadataTags": (re.compile("enabled|disabled"), "enabled or disabled"),
            "metadataOptions.httpEndpoint": (re.compile("enabled|disabled"), "enabled or disabled"),
            "rootBlockDevice.volumeType": (
                re.compile("standard|gp2|gp3|io1|io2|sc1|st1"),
                "standard, gp2, gp3, io1, io2, sc1 or st1",
            ),
            "cpuOptions.nestedVirtualization": (re.compile("enabled|disabled"), "enabled or disabled"),
            "instanceMarketOptions.marketType": (re.compile("spot|capacity-block"), "spot or capacity-block"),
            "instanceMarketOptions.spotOptions.spotInstanceType": (
                re.compile("one-time|persistent"),
                "one-time or persistent",
            ),
            "instanceMarketOptions.spotOptions.instanceInterruptionBehavior": (
                re.compile("hibernate|stop|terminate"),
                "hibernate, stop or terminate",
            ),
            "tenancy": (re.compile("default|dedicated|host"), "default, dedicated or host"),
        },
        ranges={"metadataOptions.httpPutResponseHopLimit": (1, 64)},
        references=(
            in_subnet(),
            in_groups("vpcSecurityGroupIds[]"),
            Reference(
                "iamInstanceProfile",
                "aws:iam/instanceProfile:InstanceProfile",
                "InvalidParameterValue",
                "Value ({id}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
            ),
        ),
        unique=(addresses.ADDRESS,),
        created=boot_obstacles.start,
        rules=(
            *(_user_data, _image, _kind, _root_volume, _volumes, _one_network, _groups, _key_pair, _market, _processor),
            *(addresses.check_address, vcpus, keys.check_disks, _tags_in_metadata),
        ),
        delete_rules=(_protected,),
        replaces=lambda old, new: ["userData", "userDataBase64"] if new.get("userDataReplaceOnChange") else [],
    ),
}
