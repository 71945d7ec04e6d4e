"""Managed identities of the machines, each with the least rights that its group needs."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, managedidentity

from components.azure.place import Place
from components.azure.storage import Storage, Vault
from components.topology.firewall import NODES, SecurityGroup
from components.wiring.access_rights import grants
from components.wiring.context import ClusterContext

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

BUILT_IN = {
    "read": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "snapshots": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "secret": "4633458b-17de-408a-b874-0445c86b69e6",
}
"""Ids of Azure's roles "Storage Blob Data Reader", "Storage Blob Data Contributor", "Key Vault Secrets User"."""

ROLES: Mapping[str, Any] = {
    "machines": {
        "actions": ["Microsoft.Compute/virtualMachines/read"]
    },  # to learn that an etcd member's machine is gone
    "records": {"data_actions": [f"{BLOBS}/write"]},
    "join": {"data_actions": ["Microsoft.KeyVault/vaults/secrets/setSecret/action"]},
}
"""Permissions of custom roles, where Azure's smallest built-in role allows too much."""

CONDITION_VERSION = "2.0"


def condition(prefixes: Iterable[str]) -> str:
    """Return a role assignment condition that is true for blobs whose names have a prefix; listing stays denied."""
    return " OR ".join(f"@Resource[{BLOBS}:path] StringStartsWith '{prefix}'" for prefix in prefixes)


class Identity(pulumi.ComponentResource):
    """A user-assigned managed identity for each group of machines."""

    ids: Mapping[SecurityGroup, Output[str]]
    client_ids: Mapping[SecurityGroup, Output[str]]
    granted: list[pulumi.Resource]
    """Role assignments; machines lack rights before these exist."""

    def __init__(
        self,
        context: ClusterContext,
        storage: Storage,
        vault: Vault,
        subscription: Output[str],
        place: Place,
        opts: ResourceOptions | None = None,
    ) -> None:
        name = context.plan.name
        super().__init__("mullion:azure:Identity", name, {"groups": [group.value for group in NODES]}, opts)
        self._cluster, self._place = name, place
        self._scopes = {**storage.containers, **vault.secrets, "": place.id}
        roles = Output.concat("/subscriptions/", subscription, "/providers/Microsoft.Authorization/roleDefinitions/")
        self._roles = {key: Output.concat(roles, id_) for key, id_ in BUILT_IN.items()}
        self._roles |= {key: self._custom_role(key, context.generated.suffix) for key in ROLES}
        names = {group: f"{name}-{group.value}" for group in NODES}
        identities = {
            group: managedidentity.UserAssignedIdentity(
                full, resource_name_=full, **place.here(self, managedidentity.UserAssignedIdentity, full)
            )
            for group, full in names.items()
        }
        self.ids = {group: identity.id for group, identity in identities.items()}
        self.client_ids = {group: identity.client_id for group, identity in identities.items()}
        self.granted = [
            assignment
            for group, identity in identities.items()
            for assignment in self._assign(group, identity.principal_id)
        ]
        self.register_outputs({"ids": {group.value: id_ for group, id_ in self.ids.items()}})

    def _custom_role(self, key: str, suffix: Output[str]) -> Output[str]:
        """Return the id of a custom role; the suffix makes its name unique in the directory."""
        return authorization.RoleDefinition(
            f"{self._cluster}-{key}",
            role_name=suffix.apply(lambda letters: f"{self._cluster}-{key}-{letters}"),
            role_type="CustomRole",
            description=f"Machines of {self._cluster}",
            scope=self._place.id,
            assignable_scopes=[self._place.id],
            permissions=[ROLES[key]],
            opts=ResourceOptions(parent=self),
        ).id

    def _assign(self, group: SecurityGroup, principal: Output[str]) -> list[pulumi.Resource]:
        return [
            authorization.RoleAssignment(
                f"{self._cluster}-{group.value}-{grant.name}",
                scope=self._scopes[grant.target],
                role_definition_id=self._roles[grant.role],
                principal_id=principal,
                # else Azure looks the new identity up, which may not have replicated in the directory yet
                principal_type="ServicePrincipal",
                condition=condition(grant.prefixes) if grant.prefixes else None,
                condition_version=CONDITION_VERSION if grant.prefixes else None,
                opts=ResourceOptions(parent=self),
            )
            for grant in grants(group)
        ]
