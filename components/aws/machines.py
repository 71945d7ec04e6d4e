"""EC2 instances of the control plane and the workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_aws as aws
from pulumi import Output

from components.aws import cloud_controller
from components.catalogue import etcd_disks
from components.catalogue.etcd_disks import Disk
from components.spec.models import OperatingSystem
from components.topology.firewall import Group, SecurityGroup
from components.wiring.context import ClusterContext
from components.wiring.launch_data import LaunchData
from components.wiring.machine_groups import CloudMachines, MachineRequest

DISK = [f"rootBlockDevice.{each}" for each in ("encrypted", "volumeSize", "volumeType")]
"""Inputs of the root disk, without its tags."""

METADATA_OPTIONS: aws.ec2.InstanceMetadataOptionsArgsDict = {
    "http_endpoint": "enabled",
    "http_tokens": "required",
    "http_put_response_hop_limit": 1,
    "instance_metadata_tags": "disabled",
}
"""Hop limit 1: containers cannot get the machine's credentials. Tags: an account or its organisation may enable them
for all instances, and EC2 then refuses tag keys with a slash or space, such as those of a cloud controller."""
SPOT: aws.ec2.InstanceInstanceMarketOptionsSpotOptionsArgsDict = {
    "spot_instance_type": "one-time",
    "instance_interruption_behavior": "terminate",
}
"""A one-time request, without a maximum price. EC2 would start an instance of a persistent request again by itself, and
the state would not know it."""


NESTED: aws.ec2.InstanceCpuOptionsArgsDict = {"nested_virtualization": "enabled"}
"""Lets Hyper-V run in the machine. EC2 then turns Virtual Secure Mode of Windows off (EC2 API reference,
CpuOptionsRequest)."""


@dataclass(frozen=True)
class MachineInputs:
    """Outputs of other components that every instance takes as arguments."""

    context: ClusterContext
    subnet_ids: list[Output[str]]
    """By zone."""
    group_ids: Mapping[Group, Output[str]]
    profiles: Mapping[SecurityGroup, Output[str]]
    images: Mapping[OperatingSystem, Output[str]]


def cloud_machines(
    inputs: MachineInputs, launch: LaunchData, first: list[pulumi.Resource]
) -> CloudMachines[aws.ec2.Instance]:
    """Return how to register machines on AWS. first: resources that must exist before any machine."""
    return CloudMachines(
        "aws",
        partial(_machine, inputs),
        launch,
        instance_id=lambda instance: instance.id,
        first=first,
        # a stopped machine has no public address, and the provider would replace it (terraform-provider-aws#33775)
        ignored=["userData", "userDataBase64", "associatePublicIpAddress"],
        lasting=["ami", "instanceType", *DISK, "ebsBlockDevices"],
    )


def _machine(inputs: MachineInputs, request: MachineRequest) -> aws.ec2.Instance:
    group, machine, name = request.group, request.machine, request.name
    others = cloud_controller.cluster_tag(inputs.context.plan)
    tags = inputs.context.tags.on(request.parent, aws.ec2.Instance, name, request.tags, others=others)
    own_key = inputs.context.plan.spec.encryption_key
    key: aws.ec2.InstanceRootBlockDeviceArgsDict = {"kms_key_id": own_key} if own_key else {}
    market: aws.ec2.InstanceInstanceMarketOptionsArgsDict = {"market_type": "spot", "spot_options": SPOT}
    return aws.ec2.Instance(
        name,
        ami=inputs.images[group.os],
        instance_type=group.size,
        cpu_options=NESTED if group.nested_virtualisation else None,
        instance_market_options=market if group.spot else None,
        subnet_id=inputs.subnet_ids[machine.zone],
        private_ip=str(machine.address),
        vpc_security_group_ids=[inputs.group_ids[group.group]],
        iam_instance_profile=inputs.profiles[group.group],
        associate_public_ip_address=inputs.context.plan.has_public_machines,
        source_dest_check=machine.pods is None,  # it drops packets with a pod's source address
        metadata_options=METADATA_OPTIONS,
        user_data=request.user_data,
        # not volume_tags: these would overwrite the tags of volumes that a CSI driver attaches
        root_block_device={
            "volume_type": "gp3",
            "volume_size": group.disk_gb,
            "encrypted": True,
            **key,
            "tags": tags,
        },
        ebs_block_devices=_etcd_disk(group.etcd_disk, own_key, tags),
        tags=tags,
        opts=request.options,
    )


def _etcd_disk(
    disk: Disk | None, own_key: str | None, tags: pulumi.Input[Mapping[str, pulumi.Input[str]]]
) -> list[aws.ec2.InstanceEbsBlockDeviceArgsDict] | None:
    """Return the mapping of etcd's disk, which EC2 deletes with the instance; None without a disk."""
    if disk is None:
        return None
    mapping: aws.ec2.InstanceEbsBlockDeviceArgsDict = {
        "device_name": etcd_disks.NAME["aws"],
        "volume_type": disk.type.value,
        "volume_size": disk.size_gb,
        "encrypted": True,
        "delete_on_termination": True,
        "tags": tags,
    }
    if disk.iops is not None:
        mapping["iops"] = disk.iops
    if disk.throughput is not None:
        mapping["throughput"] = disk.throughput
    if own_key:
        mapping["kms_key_id"] = own_key
    return [mapping]
