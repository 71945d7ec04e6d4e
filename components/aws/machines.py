"""What every machine has in common, whether control plane or worker."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output

from components import facts, userdata
from components.firewall import Group
from components.plan import Machine, MachineGroup
from components.spec.models import OperatingSystem
from components.tags import Tags


@dataclass(frozen=True)
class Site:
    """Where machines are put, and what they are given."""

    subnet_ids: list[Output[str]]
    """By zone."""
    group_ids: Mapping[Group, Output[str]]
    profiles: Mapping[Group, Output[str]]
    images: Mapping[OperatingSystem, Output[str]]
    bundle_urls: Mapping[str, Output[str]]
    facts: Output[dict[str, str]]
    """All but status_url."""
    status_urls: Mapping[Group, Output[str]]
    public: bool
    """Whether machines have public addresses."""
    routed_pods: bool
    """Whether machines send from pod addresses, which the source/destination check would drop."""
    routes: list[pulumi.Resource]
    """What must exist before a machine can reach anything."""


def instance_arguments(
    parent: pulumi.Resource, group: MachineGroup, made: Output[MachineGroup], site: Site, tags: Tags
) -> "Arguments":
    """Arguments of a group's instances. made: the group as it is in this run (components/upgrade.py)."""
    control_plane = group.is_control_plane
    given = Output.all(site.bundle_urls[group.name], site.facts, site.status_urls[group.group], made).apply(
        lambda known: (
            known[0],
            facts.for_role({**known[1], "status_url": known[2]}, control_plane=control_plane),
            known[3].bundle.sha256,
        )
    )
    common = {
        "ami": site.images[group.os],
        "instance_type": group.size,
        "vpc_security_group_ids": [site.group_ids[group.group]],
        "iam_instance_profile": site.profiles[group.group],
        "associate_public_ip_address": site.public,
        "source_dest_check": not site.routed_pods,
        # one hop: containers cannot take the machine's identity
        "metadata_options": {"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
    }
    return Arguments(parent, group, made, site, tags, given, common)


@dataclass(frozen=True)
class Arguments:
    """Arguments of one group's instances: what they share is made once."""

    parent: pulumi.Resource
    group: MachineGroup
    made: Output[MachineGroup]
    site: Site
    tags: Tags
    given: Output[tuple[str, dict[str, str], str]]
    """Bundle URL, facts, and the bundle's sha256."""
    common: dict[str, Any]

    def of(self, machine: Machine, name: str) -> dict[str, Any]:
        """Arguments of the machine's instance, whose logical name is given."""
        group = self.group
        mine, family = group.machine_document(machine), group.family
        more: dict[str, pulumi.Input[str]] = {"pool": group.name}
        if not group.is_control_plane:  # which changes in place, so it is never what it was made as
            more["digest"] = self.made.apply(lambda made: made.replace_digest[:16])
        tags = self.tags.on(self.parent, aws.ec2.Instance, name, more)
        return {
            **self.common,
            "subnet_id": self.site.subnet_ids[machine.zone],
            "private_ip": str(machine.address),
            "user_data": self.given.apply(
                lambda known: userdata.user_data(family, userdata.document(known[0], known[2], mine, known[1]))
            ),
            # tags of the disk's own: volume_tags would write over those of volumes that a CSI driver attaches
            "root_block_device": {
                "volume_type": "gp3",
                "volume_size": group.disk_gb,
                "encrypted": True,
                "tags": tags,
            },
            "tags": tags,
        }


IGNORED = ["userData", "userDataBase64", "associatePublicIpAddress"]
"""A newer loader or bundle is for machines made from now on; a replacement takes it all the same. A stopped machine
has no public address, and the provider would replace it for that (terraform-provider-aws#33775)."""
