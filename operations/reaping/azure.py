"""Azure: the resource groups of clusters, and roles outside them.

A group is deleted as a whole, with what Kubernetes made in it. Sources: Resource Manager REST API (resource groups;
resources by group), Authorization REST API 2022-04-01.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from operations.clouds.api import ApiError
from operations.clouds.bearer import Requests, printed
from operations.reaping.things import TIER, Thing, tagged_fields

HOST, GROUPS, ROLES, IDENTITIES = "management.azure.com", "2021-04-01", "2022-04-01", "2023-01-31"
"""Resource Manager's host, and versions of its APIs."""
MARK, CLUSTER = "mullion:", "mullion:cluster"
_WAITS = frozenset({"ResourceGroupBeingDeleted", "Conflict", "AnotherOperationInProgress", "OperationNotAllowed"})
_WAITING = frozenset({"RoleDefinitionHasAssignments", "RetryableError", "ResourceGroupDeletionTimeout"})
_MACHINE = "microsoft.compute/virtualmachines"
_MADE = frozenset(
    each.lower()
    for each in (
        "Microsoft.Compute/disks",
        "Microsoft.Compute/virtualMachines/extensions",
        "Microsoft.Network/loadBalancers",
        "Microsoft.Network/networkInterfaces",
        "Microsoft.Network/networkSecurityGroups",
        "Microsoft.Network/publicIPAddresses",
        "Microsoft.Network/routeTables",
        "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
    )
)
"""Types of the resources that machines and Kubernetes create in a group, without Mullion's tags."""


def token() -> tuple[str, str]:
    """Return an access token and the subscription, from the command line of Azure. Raises Stop if there is none."""
    chosen = os.environ.get("ARM_SUBSCRIPTION_ID", "")
    options = ("--subscription", chosen) if chosen else ()
    command = ("az", "account", "get-access-token", "--resource", f"https://{HOST}/", "--output", "json", *options)
    said = printed(command, "no credentials of Azure: install the Azure command line, and sign in with az login")
    return said["accessToken"], chosen or said["subscription"]


class Azure:
    """A subscription. regions: locations of the groups to look at; empty: all."""

    cloud = "azure"

    def __init__(self, requests: Requests, subscription: str, regions: Sequence[str]) -> None:
        self._requests, self.name, self._regions = requests, subscription, {each.lower() for each in regions}
        self._path = f"/subscriptions/{subscription}"
        self.close = requests.close

    def inventory(self) -> list[Thing]:
        """Return the groups of all clusters, their custom roles, and role assignments."""
        groups = list(self._groups())
        if not groups:
            return []
        whole = [each for each in groups if not each.held]
        clusters = {each.id.lower(): each.cluster for each in whole if not each.kept}
        definitions = [each for group in whole for each in self._definitions(group)]
        principals = {principal: group.cluster for group in whole for principal in self._principals(group)}
        return [*self._assignments(clusters, principals), *definitions, *groups]

    def delete(self, thing: Thing) -> None:
        """Ask for the deletion of a resource. Raises ApiError."""
        version = GROUPS if thing.kind == "resource-group" else ROLES
        try:
            self._requests.call("DELETE", HOST, thing.id, {"api-version": version})
        except ApiError as error:
            if error.status != 404:
                raise

    def waits(self, code: str) -> bool:
        """Return whether a refusal ends by itself."""
        return code in _WAITS or code in _WAITING

    def _groups(self) -> Iterator[Thing]:
        query = {"api-version": GROUPS, "$expand": "createdTime"}
        for row in self._requests.values(HOST, f"{self._path}/resourcegroups", query):
            tags, location = row.get("tags") or {}, str(row.get("location") or "")
            if CLUSTER not in tags or (self._regions and location.lower() not in self._regions):
                continue
            cluster, since = tags[CLUSTER], row.get("createdTime")
            kept = tags.get("Name") == f"{cluster}-snapshots"
            state = str((row.get("properties") or {}).get("provisioningState") or "")
            fields: dict[str, Any] = {**tagged_fields(tags, MARK), "deleting": state.lower() == "deleting"}
            created = datetime.fromisoformat(since.replace("Z", "+00:00")[:19] + "+00:00") if since else None
            rank = 2 * TIER if kept else TIER
            content = self._inside(f"{row['id']}/resources", GROUPS)
            fields |= {"held": self._foreign(content, cluster), "kept": kept}
            fields["inside"] = sum(str(each["type"]).lower() == _MACHINE for each in content)
            yield Thing("resource-group", row["id"], location, cluster, rank, created=created, **fields)

    def _inside(self, path: str, version: str, **query: str) -> list[Mapping[str, Any]]:
        """List what a group has; nothing once another reaper has deleted the group."""
        try:
            return list(self._requests.values(HOST, path, {"api-version": version, **query}))
        except ApiError as error:
            if error.status != 404:
                raise
            return []

    @staticmethod
    def _foreign(content: Iterable[Mapping[str, Any]], cluster: str) -> str:
        """Return why a group must not be deleted: it has a resource that neither Mullion nor Kubernetes made, or only
        such as Kubernetes makes, so that the group's own tags alone say whose it is.
        """
        any_ours, last = False, ""
        for row in content:
            tags: Mapping[str, str] = row.get("tags") or {}
            ours = cluster in (tags.get(CLUSTER), tags.get("mullion-cluster"))
            if not ours and str(row["type"]).lower() not in _MADE:
                return f"it contains {row['id']}, which is not Mullion's"
            any_ours, last = any_ours or ours, str(row["id"])
        return f"it contains {last}, and nothing with Mullion's tags" if last and not any_ours else ""

    def _principals(self, group: Thing) -> Iterator[str]:
        """Yield the principals of a group's identities."""
        path = f"{group.id}/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
        for row in self._inside(path, IDENTITIES):
            if principal := (row.get("properties") or {}).get("principalId"):
                yield principal

    def _definitions(self, group: Thing) -> Iterator[Thing]:
        """Yield the custom roles that can be assigned only in this group: they would outlive it."""
        path = f"{group.id}/providers/Microsoft.Authorization/roleDefinitions"
        for row in self._inside(path, ROLES, **{"$filter": "type eq 'CustomRole'"}):
            scopes = {str(each).lower() for each in row["properties"].get("assignableScopes") or []}
            if scopes == {group.id.lower()}:
                yield Thing("role-definition", row["id"], group.region, group.cluster, 1, untagged=True)

    def _assignments(self, groups: Mapping[str, str], principals: Mapping[str, str]) -> Iterator[Thing]:
        """Yield the role assignments of clusters' identities in any scope, and all role assignments in their groups."""
        path = f"{self._path}/providers/Microsoft.Authorization/roleAssignments"
        for row in self._requests.values(HOST, path, {"api-version": ROLES}):
            about = row["properties"]
            scope = str(about.get("scope") or "").lower()
            inside = next((name for group, name in groups.items() if f"{scope}/".startswith(f"{group}/")), "")
            if cluster := principals.get(str(about.get("principalId")), inside):
                yield Thing("role-assignment", row["id"], "global", cluster, 0, untagged=True)
