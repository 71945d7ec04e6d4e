"""Managed identities of the machines, and the rights of each: what its machines must do, and nothing else."""

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

    ids: Mapping[SecurityGroup, Output[str]]
    client_ids: Mapping[SecurityGroup, Output[str]]
    granted: list[pulumi.Resource]
    """What must exist before a machine may do what it must."""

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
        super().__init__("mullion:azure:Identity", name, {"groups": [each.value for each in NODES]}, opts)
        self._cluster, self._place = name, place
        self._scopes = {**storage.containers, **vault.secrets, "": place.id}
        known = Output.concat("/subscriptions/", subscription, "/providers/Microsoft.Authorization/roleDefinitions/")
        self._roles = {key: Output.concat(known, role) for key, role in BUILT_IN.items()}
        self._roles |= {key: self._own(key, context.generated.suffix) for key in ROLES}
        names = {group: f"{name}-{group.value}" for group in NODES}
        made = {
            group: managedidentity.UserAssignedIdentity(
                full, resource_name_=full, **place.here(self, managedidentity.UserAssignedIdentity, full)
            )
            for group, full in names.items()
        }
        self.ids = {group: each.id for group, each in made.items()}
        self.client_ids = {group: each.client_id for group, each in made.items()}
        self.granted = [right for group, each in made.items() for right in self._rights(group, each.principal_id)]
        self.register_outputs({"ids": {group.value: each for group, each in self.ids.items()}})

    def _own(self, key: str, suffix: Output[str]) -> Output[str]:
        """Id of a role of the cluster's own; the suffix is there because names of roles are the whole directory's."""
        return authorization.RoleDefinition(
            f"{self._cluster}-{key}",
            role_name=suffix.apply(lambda known: f"{self._cluster}-{key}-{known}"),
            role_type="CustomRole",
            description=f"Machines of {self._cluster}",
            scope=self._place.id,
            assignable_scopes=[self._place.id],
            permissions=[ROLES[key]],
            opts=ResourceOptions(parent=self),
        ).id

    def _rights(self, group: SecurityGroup, principal: Output[str]) -> list[pulumi.Resource]:
        return [
            authorization.RoleAssignment(
                f"{self._cluster}-{group.value}-{each.name}",
                scope=self._scopes[each.target],
                role_definition_id=self._roles[each.role],
                principal_id=principal,
                # said, so that nobody looks for an identity that the directory does not show everywhere yet
                principal_type="ServicePrincipal",
                condition=condition(each.beginnings) if each.beginnings else None,
                condition_version=CONDITION_VERSION if each.beginnings else None,
                opts=ResourceOptions(parent=self),
            )
            for each in grants(group)
        ]
