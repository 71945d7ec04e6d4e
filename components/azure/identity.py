"""Managed identities of the machines, and the rights of each: what its machines must do, and nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_azure_native import authorization, managedidentity

from components.azure.place import Place
from components.azure.storage import Storage
from components.azure.vault import Vault
from components.firewall import NODES, Group
from components.rights import of as rights_of
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


def condition(beginnings: Iterable[str]) -> str:
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
        rights, stores, secrets = rights_of(group), self._storage.containers, self._secrets
        rows: list[tuple[str, str, Input[str], str | None]] = [
            ("read", "blob-reader", stores["bundles"], condition(rights.read)),
            ("written", "records", stores["bundles"], condition(rights.written)),
            *((f"{key}-read", "secret-user", secrets[key], None) for key in rights.secrets),
            *((f"{key}-write", "join", secrets[key], None) for key in rights.told),
        ]
        if group is Group.CONTROL_PLANE:
            rows.append(("snapshots", "blob-contributor", stores["snapshots"], None))
            rows.append(("machines", "machines", self._place.id, None))
        return [self._may(f"{group.value}-{title}", role, scope, when, principal) for title, role, scope, when in rows]

    def _may(
        self, title: str, role: str, scope: Input[str], when: str | None, principal: Output[str]
    ) -> pulumi.Resource:
        return authorization.RoleAssignment(
            f"{self._cluster}-{title}",
            scope=scope,
            role_definition_id=self._roles[role],
            principal_id=principal,
            # said, so that nobody looks for an identity that the directory does not show everywhere yet
            principal_type="ServicePrincipal",
            condition=when,
            condition_version=CONDITION_VERSION if when else None,
            opts=self._child,
        )
