"""Managed identities of the machines, each with the least rights that its machine needs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, managedidentity

from components.azure.place import Place
from components.azure.storage import Storage, Vault
from components.topology.firewall import SecurityGroup
from components.wiring.access_rights import Grant, grants, identities
from components.wiring.context import ClusterContext

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

BUILT_IN = {
    "snapshots": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "secret": "4633458b-17de-408a-b874-0445c86b69e6",
}
"""Ids of Azure's roles "Storage Blob Data Contributor", "Key Vault Secrets User"."""

ROLES: Mapping[str, Any] = {
    "machines": {
        "actions": ["Microsoft.Compute/virtualMachines/read"]
    },  # to learn that an etcd member's machine is gone
    "objects": {"data_actions": [f"{BLOBS}/read", f"{BLOBS}/write"]},
    "join": {"data_actions": ["Microsoft.KeyVault/vaults/secrets/setSecret/action"]},
}
"""Permissions of custom roles, where Azure's smallest built-in role allows too much."""

CONDITION_VERSION = "2.0"


ACTIONS = {"read": "read", "records": "write"}
"""Last part of the action that role "objects" allows, by the role of a Grant."""


def condition(granted: Iterable[Grant]) -> str:
    """Return a role assignment condition that is true for each action on blobs whose names have one of its prefixes.

    Listing stays denied. Source: Azure RBAC, "Azure role assignment condition format and syntax".
    """
    return " AND ".join(
        f"(!(ActionMatches{{'{BLOBS}/{ACTIONS[grant.role]}'}}) OR ({_begins(grant.prefixes)}))" for grant in granted
    )


def _begins(prefixes: Iterable[str]) -> str:
    return " OR ".join(f"@Resource[{BLOBS}:path] StringStartsWith '{prefix}'" for prefix in prefixes)


class Identity(pulumi.ComponentResource):
    """A user-assigned managed identity for the control plane, and one for each worker.

    Each worker takes two of a subscription's 4000 role assignments ("Azure RBAC limits").
    """

    ids: Mapping[str, Output[str]]
    """Resource ids by name of the identity (components/wiring/access_rights.py)."""
    client_ids: Mapping[str, Output[str]]
    granted: Mapping[str, list[pulumi.Resource]]
    """Role assignments by name of the identity; machines lack rights before these exist."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        storage: Storage,
        vault: Vault,
        subscription: Output[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        name = context.plan.name
        named = identities(context.plan)
        super().__init__("mullion:azure:Identity", name, {"identities": list(named)}, opts)
        self._cluster, self._place, self._vault = name, place, vault.resource
        self._scopes = {**storage.containers, **vault.secrets, "": place.id}
        roles = Output.concat("/subscriptions/", subscription, "/providers/Microsoft.Authorization/roleDefinitions/")
        self._roles = {key: Output.concat(roles, id_) for key, id_ in BUILT_IN.items()}
        self._roles |= {key: self._custom_role(key, context.generated.suffix) for key in ROLES}
        made = {
            own: managedidentity.UserAssignedIdentity(
                f"{name}-{own}",
                resource_name_=f"{name}-{own}",
                **place.here(self, managedidentity.UserAssignedIdentity, f"{name}-{own}"),
            )
            for own in named
        }
        self.ids = {own: identity.id for own, identity in made.items()}
        self.client_ids = {own: identity.client_id for own, identity in made.items()}
        self.granted = {own: list(self._assign(group, own, made[own].principal_id)) for own, group in named.items()}
        self.register_outputs({"ids": self.ids})

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

    def _assign(self, group: SecurityGroup, own: str, principal: Output[str]) -> Iterator[pulumi.Resource]:
        """Assign the rights of an identity; those on objects by prefix in one assignment with a condition."""
        granted = list(grants(group, own))
        for grant in granted:
            if not grant.prefixes:
                yield self._assignment(f"{own}-{grant.name}", grant.target, grant.role, principal)
        limited = condition(grant for grant in granted if grant.prefixes)
        yield self._assignment(f"{own}-objects", "bundles", "objects", principal, limited)

    def _assignment(
        self, name: str, target: str, role: str, principal: Output[str], limited: str | None = None
    ) -> pulumi.Resource:
        return authorization.RoleAssignment(
            f"{self._cluster}-{name}",
            scope=self._scopes[target],
            role_definition_id=self._roles[role],
            principal_id=principal,
            # else Azure looks the new identity up, which may not have replicated in the directory yet
            principal_type="ServicePrincipal",
            condition=limited,
            condition_version=CONDITION_VERSION if limited else None,
            # a new custom role cannot be assigned for 30 to 60 seconds (RoleDefinitionDoesNotExist, MicrosoftDocs/
            # azure-docs#99810), and the vault takes longer
            opts=ResourceOptions(parent=self, depends_on=[self._vault] if role in ROLES else None),
        )
