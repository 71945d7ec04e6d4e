"""The instances, whether control plane or worker."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_aws as aws
from pulumi import Output

from components.spec.models import OperatingSystem
from components.topology.firewall import SecurityGroup
from components.wiring.context import Blueprint
from components.wiring.launch_data import Told
from components.wiring.machine_groups import Wanted, Ways

DISK = [f"rootBlockDevice.{each}" for each in ("encrypted", "volumeSize", "volumeType")]
"""All of the disk but its tags."""


@dataclass(frozen=True)
class Site:
    """Where machines are put, and what they are given."""

    given: Blueprint
    subnet_ids: list[Output[str]]
    """By zone."""
    group_ids: Mapping[SecurityGroup, Output[str]]
    profiles: Mapping[SecurityGroup, Output[str]]
    images: Mapping[OperatingSystem, Output[str]]


def ways(site: Site, told: Told, first: list[pulumi.Resource]) -> Ways[aws.ec2.Instance]:
    """How AWS has machines. first: what must exist before one can reach anything."""
    return Ways(
        "aws",
        partial(_machine, site),
        told,
        instance_id=lambda made: made.id,
        first=first,
        # a stopped machine has no public address, and the provider would replace it (terraform-provider-aws#33775)
        ignored=["userData", "userDataBase64", "associatePublicIpAddress"],
        lasting=["ami", "instanceType", *DISK],
    )


def _machine(site: Site, wanted: Wanted) -> aws.ec2.Instance:
    group, machine, name = wanted.group, wanted.machine, wanted.name
    tags = site.given.tags.on(wanted.parent, aws.ec2.Instance, name, wanted.tags)
    return aws.ec2.Instance(
        name,
        ami=site.images[group.os],
        instance_type=group.size,
        subnet_id=site.subnet_ids[machine.zone],
        private_ip=str(machine.address),
        vpc_security_group_ids=[site.group_ids[group.group]],
        iam_instance_profile=site.profiles[group.group],
        associate_public_ip_address=site.given.plan.has_public_machines,
        source_dest_check=machine.pods is None,  # which would drop what pods send
        # one hop: containers cannot take the machine's identity
        metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
        user_data=wanted.user_data,
        # tags of the disk's own: volume_tags would write over those of volumes that a CSI driver attaches
        root_block_device={
            "volume_type": "gp3",
            "volume_size": group.disk_gb,
            "encrypted": True,
            "tags": tags,
        },
        tags=tags,
        opts=wanted.options,
    )
