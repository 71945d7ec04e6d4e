"""EC2 instances."""

import base64
import binascii
import re
from typing import Any

from sandbox.aws import addresses
from sandbox.aws.network import GROUP, INSTANCE, in_groups, in_subnet
from sandbox.aws.regions import WINDOWS, images
from sandbox.cloud import Reference, Refusal, Request, ResourceType

USER_DATA_LIMIT = 16384
"""Bytes before base64 (EC2 user guide, "Run commands when you launch an EC2 instance with user data input")."""


def _user_data(request: Request) -> None:
    encoded = request.inputs.get("userDataBase64")
    try:
        raw = base64.b64decode(encoded, validate=True) if encoded else request.inputs.get("userData", "").encode()
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
    if ami and ami not in images(request.region):
        raise Refusal("InvalidAMIID.NotFound", f"The image id '[{ami}]' does not exist")


def _root_volume(request: Request) -> None:
    """A root volume is not smaller than the image: 30 GiB for Windows Server, 8 for Ubuntu."""
    size = (request.inputs.get("rootBlockDevice") or {}).get("volumeSize")
    least = 30 if images(request.region).get(request.inputs.get("ami", ""), "").startswith(WINDOWS) else 8
    if size is not None and size < least:
        raise Refusal(
            "InvalidBlockDeviceMapping",
            f"Volume of size {size}GB is smaller than the image's snapshot, expect size >= {least}GB",
        )


def _one_network(request: Request) -> None:
    """Security groups belong to the subnet's VPC, and the zone is the subnet's."""
    subnet = request.world.find(addresses.SUBNET, request.inputs.get("subnetId", ""))
    if subnet is None:
        return
    for group in request.inputs.get("vpcSecurityGroupIds", []):
        record = request.world.find(GROUP, group)
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
    subnet = request.world.find(addresses.SUBNET, request.inputs.get("subnetId", ""))
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
    }


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
        patterns={"instanceType": (re.compile(r"[a-z0-9-]+\.[a-z0-9-]+"), "a family and a size, such as m6i.large")},
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
        rules=(_user_data, _image, _root_volume, _one_network, addresses.check_address),
        replaces=lambda old, new: ["userData", "userDataBase64"] if new.get("userDataReplaceOnChange") else [],
    ),
}
