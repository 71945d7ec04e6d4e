"""Resource Manager for the subscription's owner: groups, what is in them, roles. What a reaper by tags calls.

Sources: Resource Manager REST API 2021-04-01, Authorization REST API 2022-04-01.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.azure.cloud import AZURE
from sandbox.azure.names import RESOURCE_GROUP, SITE, WEB
from sandbox.azure.roles import ASSIGNMENT, DEFINITION
from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from sandbox.records import Record, bucket_name, secret_version
from sandbox.services.azure import responses
from sandbox.services.azure.resources import CHALLENGE, CODES
from sandbox.services.calls import Answer, Call, Refused, Target
from sandbox.services.credentials import owner_token

_GROUP = r"/subscriptions/[^/]+/resource[gG]roups/[^/]+"
_AUTHORIZATION = "/providers/Microsoft.Authorization/role"
_IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
NOT_FOUND = {"ResourceGroupNotFound": (404, "ResourceGroupNotFound")}
CONFLICT = {"RoleDefinitionHasAssignments": (400, "RoleDefinitionHasAssignments")}


@dataclass(frozen=True)
class AzureOwner:
    """The management API of one cloud state. lifetime: unused, because an owner's token does not expire."""

    cloud_state: CloudState
    lifetime: int = 0

    def target(self, call: Call) -> Target:
        """Return the only service."""
        return Target("management")

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, None]:
        """Check the owner's token. Raises Refused."""
        if call.headers.get("authorization") != f"Bearer {owner_token(self.cloud_state)}":
            raise Refused("bad-token", "The access token is invalid.")
        return "owner", None

    def serve(self, call: Call, to: Target, caller: None, now: float) -> Answer:
        """Return the answer to a call. Raises Refused."""
        if "api-version" not in dict(parse_qsl(call.query)):
            text = "The api-version query parameter (?api-version=) is required for all requests."
            raise Refused("MissingApiVersionParameter", text)
        for pattern, method, answer in ROUTES:
            if call.method == method and re.fullmatch(pattern, call.path):
                return answer(self, call.path)
        raise Refused("InvalidResourceType", f"the sandbox does not support {call.method} {call.path}", 404)

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in Resource Manager's format."""
        return responses.refusal(refused, {**CODES, **NOT_FOUND, **CONFLICT}, CHALLENGE)

    def groups(self, path: str) -> Answer:
        """List the resource groups."""
        return _listed(
            [{**_row(one), "createdTime": one.created} for one in self.cloud_state.resources(RESOURCE_GROUP)]
        )

    def resources(self, path: str) -> Answer:
        """List the top-level resources of a group, with their tags; roles do not count as resources."""
        group = self._group(path.removesuffix("/resources"))
        inside = [one for one in self._inside(group) if one.type not in (ASSIGNMENT, DEFINITION)]
        found = [one for one in inside if re.fullmatch(r"/providers/[^/]+/[^/]+/[^/]+", one.id[len(group.id) :])]
        return _listed([_row(one) for one in found])

    def identities(self, path: str) -> Answer:
        """List the user-assigned identities of a group."""
        group = self._group(path.partition("/providers/")[0])
        found = [one for one in self._inside(group) if one.type == _IDENTITY]
        return _listed([_row(one) | {"properties": {"principalId": one.outputs["principalId"]}} for one in found])

    def definitions(self, path: str) -> Answer:
        """List the custom roles that can be assigned in a group."""
        scope = path.partition("/providers/")[0].lower()
        rows = [
            {"id": one.id, "properties": {"assignableScopes": one.inputs["assignableScopes"], "type": "CustomRole"}}
            for one in self.cloud_state.resources(DEFINITION)
            if any(scope.startswith(each.lower()) for each in one.inputs["assignableScopes"])
        ]
        return _listed(rows)

    def assignments(self, path: str) -> Answer:
        """List all role assignments of the subscription."""
        rows = [
            {
                "id": one.id,
                "properties": {name: one.inputs[name] for name in ("scope", "principalId", "roleDefinitionId")},
            }
            for one in self.cloud_state.resources(ASSIGNMENT)
        ]
        return _listed(rows)

    def delete_role(self, path: str) -> Answer:
        """Delete a role or an assignment. One that does not exist is no error: 204."""
        type = ASSIGNMENT if "/roleAssignments/" in path else DEFINITION
        found = self.cloud_state.find(type, path)
        if found is None:
            return Answer(204)
        try:
            Provider(AZURE, self.cloud_state).delete(found.urn, found.id, found.inputs)
        except Refusal as refusal:
            raise Refused(refusal.code, refusal.message) from None
        return responses.answer({"id": path})

    def delete_group(self, path: str) -> Answer:
        """Delete a group with all that is in it, but custom roles: they belong to the directory."""
        group = self._group(path)
        with self.cloud_state.transaction():
            for one in [*self._inside(group), group]:
                if one.type == DEFINITION:
                    continue
                if one.type.endswith(":BlobContainer"):
                    self.cloud_state.empty_bucket(bucket_name(one))
                if one.type == SITE.token:
                    self.cloud_state.empty_bucket(f"{one.inputs['accountName']}/{WEB}")
                if one.type.endswith("keyvault:Secret"):
                    self.cloud_state.remove_secret(secret_version(one)[0])
                self.cloud_state.remove(one.sequence)
        return Answer(202, b"", {"location": f"http://{path}"})

    def _group(self, path: str) -> Record:
        name = path.rpartition("/")[2]
        found = (one for one in self.cloud_state.resources(RESOURCE_GROUP) if one.id.lower() == path.lower())
        group = next(found, None)
        if group is None:
            raise Refused("ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
        return group

    def _inside(self, group: Record) -> list[Record]:
        start = f"{group.id.lower()}/"
        return [one for one in self.cloud_state.resources() if one.id.lower().startswith(start)]


def _row(one: Record) -> dict[str, Any]:
    parts = one.id.rpartition("/providers/")[2].split("/")
    type = f"{parts[0]}/{parts[1]}" if "/providers/" in one.id else "Microsoft.Resources/resourceGroups"
    location = one.outputs.get("location") or one.region
    return {"id": one.id, "name": one.id.rpartition("/")[2], "type": type, "location": location, "tags": one.tags}


def _listed(rows: list[dict[str, Any]]) -> Answer:
    return responses.answer({"value": rows})


ROUTES: tuple[tuple[str, str, Callable[[AzureOwner, str], Answer]], ...] = (
    (r"/subscriptions/[^/]+/resourcegroups", "GET", AzureOwner.groups),
    (rf"{_GROUP}/resources", "GET", AzureOwner.resources),
    (rf"{_GROUP}/providers/Microsoft\.ManagedIdentity/userAssignedIdentities", "GET", AzureOwner.identities),
    (rf"{_GROUP}{_AUTHORIZATION}Definitions", "GET", AzureOwner.definitions),
    (rf"/subscriptions/[^/]+{_AUTHORIZATION}Assignments", "GET", AzureOwner.assignments),
    (rf"/subscriptions/.+{_AUTHORIZATION}(?:Assignments|Definitions)/[^/]+", "DELETE", AzureOwner.delete_role),
    (_GROUP, "DELETE", AzureOwner.delete_group),
)
"""Path, method and function of each call."""
