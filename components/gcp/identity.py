"""Service accounts of the machines, and the rights of each: what its machines must do, and nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Input, Output, ResourceOptions

from components.firewall import NODES, Group
from components.gcp.storage import Storage
from components.naming import within
from components.rights import of as rights_of

LONGEST_ACCOUNT = 30
"""Characters of a service account's id."""

GET, ALL = "roles/storage.legacyObjectReader", "roles/storage.objectUser"
"""storage.objects.get alone; and all that is done with objects."""

ACCESS, ADD = "roles/secretmanager.secretAccessor", "roles/secretmanager.secretVersionManager"
"""Read a secret's value; and write a new one and destroy the one before."""

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

    accounts: Mapping[Group, Output[str]]
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
        self._roles = {key: self._own(key, permissions, suffix) for key, permissions in ROLES.items()}
        made = {group: self._account(group, suffix) for group in NODES}
        self.accounts = {group: each.email for group, each in made.items()}
        self.granted = [right for group, each in made.items() for right in self._rights(group, each.member)]
        looking, member = f"{name}-machines", made[Group.CONTROL_PLANE].member
        self.granted.append(
            gcp.projects.IAMMember(
                looking, project=project, role=self._roles["machines"], member=member, opts=self._child
            )
        )
        self.register_outputs({"accounts": {group.value: each for group, each in self.accounts.items()}})

    def _account(self, group: Group, suffix: Output[str]) -> gcp.serviceaccount.Account:
        """Ids of deleted accounts are kept for 30 days, so each cluster has its own."""
        name = f"{self._cluster}-{group.value}"
        room = LONGEST_ACCOUNT - len("-") - 6
        return gcp.serviceaccount.Account(
            name,
            account_id=suffix.apply(lambda known: f"{within(room, name)}-{known}"),
            display_name=f"Kubernetes machines: {name}",
            opts=self._child,
        )

    def _rights(self, group: Group, member: Output[str]) -> list[pulumi.Resource]:
        rights, bundles = rights_of(group), self._storage.buckets["bundles"]
        found: list[pulumi.Resource] = []
        rows = (("read", GET, rights.read), ("written", self._roles["records"], rights.written))
        for title, role, beginnings in rows:
            when = bundles.apply(lambda known, rows=(title, beginnings): condition(known, *rows))
            found.append(self._on_bucket(f"{group.value}-{title}", bundles, role, member, when))
        found += [self._on_secret(group, key, ACCESS, member) for key in rights.secrets]
        found += [self._on_secret(group, key, ADD, member) for key in rights.told]
        if group is Group.CONTROL_PLANE:
            snapshots = self._storage.buckets["snapshots"]
            found.append(self._on_bucket(f"{group.value}-snapshots", snapshots, ALL, member, None))
        return found

    def _on_bucket(
        self, title: str, bucket: Output[str], role: Input[str], member: Output[str], when: Input[Any]
    ) -> pulumi.Resource:
        return gcp.storage.BucketIAMMember(
            f"{self._cluster}-{title}", bucket=bucket, role=role, member=member, condition=when, opts=self._child
        )

    def _on_secret(self, group: Group, key: str, role: str, member: Output[str]) -> pulumi.Resource:
        right = {ACCESS: "read", ADD: "write"}[role]
        return gcp.secretmanager.SecretIamMember(
            f"{self._cluster}-{group.value}-{key}-{right}",
            secret_id=self._storage.secrets[key].id,
            role=role,
            member=member,
            opts=self._child,
        )

    def _own(self, key: str, permissions: Iterable[str], suffix: Output[str]) -> Output[str]:
        """Name of a role of the cluster's own. Ids of deleted ones are kept for 37 days."""
        return gcp.projects.IAMCustomRole(
            f"{self._cluster}-{key}",
            role_id=suffix.apply(lambda known: f"{self._cluster.replace('-', '_')}_{key}_{known}"),
            title=f"{key.capitalize()} of {self._cluster}",
            permissions=list(permissions),
            opts=self._child,
        ).name
