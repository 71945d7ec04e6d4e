"""Roles of the machines: what each kind may do, and nothing else."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.storage import Storage
from components.topology.firewall import NODES, SecurityGroup
from components.wiring.access_rights import CONTROL_PLANE, EVERY, Rights
from components.wiring.tags import Tags

ASSUME = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"},
        ],
    }
)

_OWN = "${aws:userid}.json"
"""A machine's own object and no other's: aws:userid of a machine is <role id>:<instance id>."""


_PULL = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]


def statements(group: SecurityGroup, arns: Mapping[str, str], *, registries: bool = False) -> list[dict[str, Any]]:
    """What machines of a group may do; registries: also pull from the cloud's registries.

    arns: of the stores (bundles, snapshots) and the secrets (join, pki, desired-state).
    """
    rows = _rows(EVERY, arns)
    if group is SecurityGroup.CONTROL_PLANE:
        read, written, read_secrets, written_secrets = _rows(CONTROL_PLANE, arns)
        rows += [
            read,
            written,
            (["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], [f"{arns['snapshots']}/*"]),
            (["s3:ListBucket"], [arns["snapshots"]]),
            read_secrets,
            written_secrets,
            (["ec2:DescribeInstances"], ["*"]),  # the action knows no resources
        ]
    if registries:
        partition = arns["bundles"].split(":")[1]
        # a token is for the caller's own account; the registries' own policies let other accounts in
        rows += [(["ecr:GetAuthorizationToken"], ["*"]), (_PULL, [f"arn:{partition}:ecr:*:*:repository/*"])]
    return [{"Effect": "Allow", "Action": actions, "Resource": resources} for actions, resources in rows]


def _rows(rights: Rights, arns: Mapping[str, str]) -> list[tuple[list[str], list[str]]]:
    """Actions and resources of those rights that there are."""
    rows = [
        (["s3:GetObject"], [_object(arns["bundles"], each) for each in rights.read]),
        (["s3:PutObject"], [_object(arns["bundles"], each) for each in rights.written]),
        (["secretsmanager:GetSecretValue"], [arns[each] for each in rights.read_secrets]),
        (["secretsmanager:PutSecretValue"], [arns[each] for each in rights.written_secrets]),
    ]
    return [(actions, resources) for actions, resources in rows if resources]


def _object(bucket: str, name: str) -> str:
    return f"{bucket}/{name.replace('{own}', _OWN)}{'*' if name.endswith('/') else ''}"


class Identity(pulumi.ComponentResource):
    """A role and an instance profile for each group of machines."""

    profiles: Mapping[SecurityGroup, Output[str]]
    """Names of the instance profiles; each known once its role may do what it must."""
    role_ids: Mapping[SecurityGroup, Output[str]]
    """The unique ids of the roles, AROA..."""

    def __init__(
        self, name: str, storage: Storage, tags: Tags, *, registries: bool, opts: ResourceOptions | None = None
    ) -> None:
        super().__init__("mullion:aws:Identity", name, {"groups": [each.value for each in NODES]}, opts)
        self._registries = registries
        made = {group: self._profile(f"{name}-{group.value}", group, storage, tags) for group in NODES}
        self.profiles = {group: profile for group, (profile, _) in made.items()}
        self.role_ids = {group: role for group, (_, role) in made.items()}
        self.register_outputs({"profiles": {group.value: each for group, each in self.profiles.items()}})

    def _statements(self, group: SecurityGroup, arns: Mapping[str, str]) -> list[dict[str, Any]]:
        return statements(group, arns, registries=self._registries)

    def _profile(
        self, name: str, group: SecurityGroup, storage: Storage, tags: Tags
    ) -> tuple[Output[str], Output[str]]:
        """Name of the instance profile, and unique id of its role."""
        role = aws.iam.Role(
            name,
            assume_role_policy=ASSUME,
            tags=tags.on(self, aws.iam.Role, name),
            opts=ResourceOptions(parent=self),
        )
        policy = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=storage.arns.apply(
                lambda arns: json.dumps({"Version": "2012-10-17", "Statement": self._statements(group, arns)})
            ),
            opts=ResourceOptions(parent=self),
        )
        profile = aws.iam.InstanceProfile(
            name,
            role=role.name,
            tags=tags.on(self, aws.iam.InstanceProfile, name),
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        return profile.name, role.unique_id
