"""Service accounts of the machines, and the rights of each: what its machines must do, and nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Input, Output, ResourceOptions

from components.gcp.storage import Storage
from components.naming import within
from components.topology.firewall import NODES, SecurityGroup
from components.wiring.access_rights import Grant, grants

LONGEST_ACCOUNT = 30
"""Characters of a service account's id."""

BUILT_IN = {
    "read": "roles/storage.legacyObjectReader",  # storage.objects.get alone
    "snapshots": "roles/storage.objectUser",  # all that is done with objects
    "secret": "roles/secretmanager.secretAccessor",
    "join": "roles/secretmanager.secretVersionManager",  # write a new value, and destroy the one before
}
"""Google's roles."""

ROLES: Mapping[str, tuple[str, ...]] = {
    "machines": ("compute.instances.get", "compute.instances.list"),  # whether a member's machine is really gone
    "records": ("storage.objects.create", "storage.objects.delete"),  # writing over an object needs both
}
"""Roles of the cluster's own, where the least of Google's has more than is needed. Source for objects: Cloud Storage,
"IAM permissions for XML requests"."""


def condition(bucket: str, title: str, beginnings: Iterable[str]) -> dict[str, Any]:
    """A condition that holds for objects whose names begin so."""
    folder = f"projects/_/buckets/{bucket}/objects/"
    return {
        "title": title,
        "expression": " || ".join(f'resource.name.startsWith("{folder}{each}")' for each in beginnings),
    }


class Identity(pulumi.ComponentResource):
    """A service account for each group of machines."""

    accounts: Mapping[SecurityGroup, Output[str]]
    """Their e-mail addresses."""
    granted: list[pulumi.Resource]
    """What must exist before a machine may do what it must."""

    def __init__(
        self,
        name: str,
        storage: Storage,
        suffix: Output[str],
        project: Output[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:gcp:Identity", name, {"groups": [each.value for each in NODES]}, opts)
        self._cluster, self._child, self._storage = name, ResourceOptions(parent=self), storage
        self._project = project
        own = {key: self._own(key, permissions, suffix) for key, permissions in ROLES.items()}
        self._roles: Mapping[str, Input[str]] = {**BUILT_IN, **own}
        made = {group: self._account(group, suffix) for group in NODES}
        self.accounts = {group: each.email for group, each in made.items()}
        self.granted = [
            self._right(group, right, each.member) for group, each in made.items() for right in grants(group)
        ]
        self.register_outputs({"accounts": {group.value: each for group, each in self.accounts.items()}})

    def _account(self, group: SecurityGroup, suffix: Output[str]) -> gcp.serviceaccount.Account:
        """Ids of deleted accounts are kept for 30 days, so each cluster has its own."""
        name = f"{self._cluster}-{group.value}"
        room = LONGEST_ACCOUNT - len("-") - 6
        return gcp.serviceaccount.Account(
            name,
            account_id=suffix.apply(lambda known: f"{within(room, name)}-{known}"),
            display_name=f"Kubernetes machines: {name}",
            opts=self._child,
        )

    def _right(self, group: SecurityGroup, right: Grant, member: Output[str]) -> pulumi.Resource:
        """On a bucket, a secret, or the project."""
        name, role = f"{self._cluster}-{group.value}-{right.name}", self._roles[right.role]
        if right.target in self._storage.secrets:
            secret = self._storage.secrets[right.target].id
            return gcp.secretmanager.SecretIamMember(name, secret_id=secret, role=role, member=member, opts=self._child)
        if right.target in self._storage.buckets:
            bucket = self._storage.buckets[right.target]
            limited = bucket.apply(lambda known: condition(known, right.name, right.beginnings))
            when: Any = limited if right.beginnings else None
            return gcp.storage.BucketIAMMember(
                name, bucket=bucket, role=role, member=member, condition=when, opts=self._child
            )
        name = f"{self._cluster}-{right.name}"
        return gcp.projects.IAMMember(name, project=self._project, role=role, member=member, opts=self._child)

    def _own(self, key: str, permissions: Iterable[str], suffix: Output[str]) -> Output[str]:
        """Name of a role of the cluster's own. Ids of deleted ones are kept for 37 days."""
        return gcp.projects.IAMCustomRole(
            f"{self._cluster}-{key}",
            role_id=suffix.apply(lambda known: f"{self._cluster.replace('-', '_')}_{key}_{known}"),
            title=f"{key.capitalize()} of {self._cluster}",
            permissions=list(permissions),
            opts=self._child,
        ).name
