"""Managed identities of the machines, each with the least rights that its machine needs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, managedidentity

from components.azure.place import Place
from components.azure.storage import Storage
from components.azure.vault import Vault
from components.naming import CONTROL_PLANE
from components.plan import MachineGroup
from components.wiring.access_rights import Grant, grants, identities
from components.wiring.context import ClusterContext

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

BUILT_IN = {
    "snapshots": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "secret": "4633458b-17de-408a-b874-0445c86b69e6",
    "pull": "7f951dda-4ed3-4680-a7ca-43fe172d538d",
}
"""Ids of Azure's roles "Storage Blob Data Contributor", "Key Vault Secrets User", "AcrPull"."""

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

    Each worker takes two of a subscription's 4000 role assignments ("Azure RBAC limits"). So one identity for all
    machines pulls images: its rights on a registry are given once, and stay when machines come and go. So does one for
    the plug-in of gMSA, whose credential specs name one identity for all machines; it has no rights from here.
    """

    ids: Mapping[str, Output[str]]
    """Resource ids by name of the identity (components/wiring/access_rights.py)."""
    client_ids: Mapping[str, Output[str]]
    puller: managedidentity.UserAssignedIdentity | None = None
    """The identity that pulls images, of all machines; None without registry_credentials."""
    gmsa: managedidentity.UserAssignedIdentity | None = None
    """The identity of all Windows workers, by which the plug-in of gMSA reads its secret; None without a plug-in."""
    granted: Mapping[str, list[pulumi.Resource]]
    """Role assignments by name of the identity; machines lack rights before these exist."""
    definitions: Mapping[str, authorization.RoleDefinition]
    """Custom roles by key of ROLES."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        subscription: Output[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        """Create the identities and the custom roles; `grant` assigns the roles once what they are for exists."""
        name = context.plan.name
        self._named = identities(context.plan)
        super().__init__("mullion:azure:Identity", name, {"identities": list(self._named)}, opts)
        self._cluster, self._place = name, place
        account = Output.concat("/subscriptions/", subscription)
        self._scopes = {"": place.id, "account": account}
        roles = Output.concat(account, "/providers/Microsoft.Authorization/roleDefinitions/")
        self.definitions = {key: self._definition(key, context.generated.suffix) for key in ROLES}
        self._roles = {key: Output.concat(roles, id_) for key, id_ in BUILT_IN.items()}
        self._roles |= {key: each.id for key, each in self.definitions.items()}
        self._made = {own: self._identity(own) for own in self._named}
        self.ids = {own: identity.id for own, identity in self._made.items()}
        self.client_ids = {own: identity.client_id for own, identity in self._made.items()}
        if "acr" in context.plan.spec.registry_credentials:
            self.puller = self._identity("registries")
        if context.plan.spec.gmsa.plugin and any(group.os.is_windows for group in context.plan.machine_groups):
            self.gmsa = self._identity("gmsa")
        self.register_outputs({"ids": self.ids})

    def grant(self, storage: Storage, vault: Vault) -> None:
        """Assign the roles. vault: of the cluster, created after `definitions`."""
        self._scopes |= {**storage.containers, **vault.secrets}
        self._vault = vault.resource
        self.granted = {
            own: list(self._assign(group, own, self._made[own].principal_id)) for own, group in self._named.items()
        }
        if self.puller:
            pull = self._assignment("registries-pull", "account", "pull", self.puller.principal_id)
            for resources in self.granted.values():
                resources.append(pull)

    def _identity(self, own: str) -> managedidentity.UserAssignedIdentity:
        name = f"{self._cluster}-{own}"
        here = self._place.here(self, managedidentity.UserAssignedIdentity, name)
        return managedidentity.UserAssignedIdentity(name, resource_name_=name, **here)

    def of_machine(self, own: str, *, is_windows: bool) -> list[Output[str]]:
        """Return the ids of the user-assigned identities of the machines with the identity `own`."""
        shared = (self.puller if own != CONTROL_PLANE else None, self.gmsa if is_windows else None)
        return [self.ids[own], *(each.id for each in shared if each)]

    def _definition(self, key: str, suffix: Output[str]) -> authorization.RoleDefinition:
        """Return a custom role; the suffix makes its name unique in the directory."""
        return authorization.RoleDefinition(
            f"{self._cluster}-{key}",
            role_name=suffix.apply(lambda letters: f"{self._cluster}-{key}-{letters}"),
            role_type="CustomRole",
            description=f"Machines of {self._cluster}",
            scope=self._place.id,
            assignable_scopes=[self._place.id],
            permissions=[ROLES[key]],
            opts=ResourceOptions(parent=self),
        )

    def _assign(self, group: MachineGroup, own: str, principal: Output[str]) -> Iterator[pulumi.Resource]:
        """Assign the rights of an identity; those on objects by prefix in one assignment with a condition."""
        granted = list(grants(own, control_plane=group.is_control_plane))
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
            # azure-docs#99810); the vault is created after it and takes longer
            opts=ResourceOptions(parent=self, depends_on=[self._vault] if role in ROLES else None),
        )
