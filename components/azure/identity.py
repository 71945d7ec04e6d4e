"""Managed identities of the machines, and the rights of each: what its machines must do, and nothing else."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_azure_native import authorization, managedidentity

from components.azure.place import Place
from components.azure.storage import Storage
from components.azure.vault import Vault
from components.desired_state import EPOCH, MEMBERS, POINTER
from components.firewall import NODES, Group
from components.tags import Tags

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

BUILT_IN = {
    "blob-reader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "blob-contributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "secret-user": "4633458b-17de-408a-b874-0445c86b69e6",
}
"""Ids of Azure's roles "Storage Blob Data Reader", "Storage Blob Data Contributor", "Key Vault Secrets User"."""

ROLES: Mapping[str, dict[str, list[str]]] = {
    "machines": {"actions": ["Microsoft.Compute/virtualMachines/read"]},  # whether a member's machine is really gone
    "records": {"data_actions": [f"{BLOBS}/write"]},
    "join": {"data_actions": ["Microsoft.KeyVault/vaults/secrets/setSecret/action"]},
}
"""Roles of the cluster's own, where the least of Azure's has more than is needed."""

CONDITION_VERSION = "2.0"


def objects(group: Group) -> list[tuple[str, str, list[str]]]:
    """Title, role and beginnings of blob names in the bundle store, of what machines of a group may do there.

    The service knows a machine's identity, not the machine: so each may write the records of its group.
    """
    own = f"{group.value}:"
    read = ["bundles/", "ca.crt", EPOCH, f"requests/{own}"]
    written = [f"status/{own}", f"logs/{own}"]
    if group is Group.CONTROL_PLANE:
        read += [POINTER, MEMBERS, "status/"]
        written.append(EPOCH)
    return [("read", "blob-reader", read), ("written", "records", written)]


def condition(beginnings: list[str]) -> str:
    """A condition that holds for blobs whose names begin so, and for nothing else: not for a list of blobs either."""
    return " OR ".join(f"@Resource[{BLOBS}:path] StringStartsWith '{each}'" for each in beginnings)


class Identity(pulumi.ComponentResource):
    """A user-assigned managed identity for each group of machines."""

    ids: Mapping[Group, Output[str]]
    client_ids: Mapping[Group, Output[str]]
    granted: list[pulumi.Resource]
    """What must exist before a machine may do what it must."""

    def __init__(
        self,
        name: str,
        storage: Storage,
        vault: Vault,
        suffix: Output[str],
        subscription: Output[str],
        place: Place,
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """suffix: names of roles are the whole directory's."""
        super().__init__("mullion:azure:Identity", name, {"groups": [each.value for each in NODES]}, opts)
        self._cluster, self._place, self._storage, self._secrets = name, place, storage, vault.secrets
        self._child = ResourceOptions(parent=self)
        self._roles: Mapping[str, Output[str]] = {
            **{key: self._built_in(subscription, role) for key, role in BUILT_IN.items()},
            **{key: self._own(key, given, suffix) for key, given in ROLES.items()},
        }
        made = {
            group: managedidentity.UserAssignedIdentity(
                f"{name}-{group.value}",
                resource_name_=f"{name}-{group.value}",
                tags=tags.on(self, managedidentity.UserAssignedIdentity, f"{name}-{group.value}"),
                opts=self._child,
                **place.here,
            )
            for group in NODES
        }
        self.ids = {group: each.id for group, each in made.items()}
        self.client_ids = {group: each.client_id for group, each in made.items()}
        self.granted = [right for group, each in made.items() for right in self._rights(group, each.principal_id)]
        self.register_outputs({"ids": {group.value: each for group, each in self.ids.items()}})

    @staticmethod
    def _built_in(subscription: Output[str], role: str) -> Output[str]:
        path = f"/providers/Microsoft.Authorization/roleDefinitions/{role}"
        return Output.concat("/subscriptions/", subscription, path)

    def _own(self, key: str, given: dict[str, list[str]], suffix: Output[str]) -> Output[str]:
        permission: Any = given
        return authorization.RoleDefinition(
            f"{self._cluster}-{key}",
            role_name=suffix.apply(lambda known: f"{self._cluster}-{key}-{known}"),
            role_type="CustomRole",
            description=f"Machines of {self._cluster}",
            scope=self._place.id,
            assignable_scopes=[self._place.id],
            permissions=[permission],
            opts=self._child,
        ).id

    def _rights(self, group: Group, principal: Output[str]) -> list[pulumi.Resource]:
        bundles, secrets = self._storage.containers["bundles"], self._secrets
        found = [
            self._may(group, title, role, bundles, principal, condition(beginnings))
            for title, role, beginnings in objects(group)
        ]
        found.append(self._may(group, "join-read", "secret-user", secrets["join"], principal))
        if group is not Group.CONTROL_PLANE:
            return found
        # the marker that decides who inits, and etcd snapshots with their retention
        snapshots = self._storage.containers["snapshots"]
        return [
            *found,
            self._may(group, "snapshots", "blob-contributor", snapshots, principal),
            *(
                self._may(group, f"{key}-read", "secret-user", secrets[key], principal)
                for key in ("pki", "desired-state")
            ),
            self._may(group, "join-write", "join", secrets["join"], principal),
            self._may(group, "machines", "machines", self._place.id, principal),
        ]

    def _may(
        self, group: Group, title: str, role: str, scope: Input[str], principal: Output[str], when: str | None = None
    ) -> pulumi.Resource:
        return authorization.RoleAssignment(
            f"{self._cluster}-{group.value}-{title}",
            scope=scope,
            role_definition_id=self._roles[role],
            principal_id=principal,
            # said, so that nobody looks for an identity that the directory does not show everywhere yet
            principal_type="ServicePrincipal",
            condition=when,
            condition_version=CONDITION_VERSION if when else None,
            opts=self._child,
        )
