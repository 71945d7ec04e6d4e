"""Role definitions and assignments."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

from sandbox.azure import rights
from sandbox.azure.names import IDENTITY, MACHINE, RESOURCE_GROUP, guid
from sandbox.azure.quotas import QUOTAS
from sandbox.azure.regions import TENANT
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.records import Record

ASSIGNMENT, DEFINITION = rights.ASSIGNMENT, rights.DEFINITION
BUILT_IN = frozenset(
    [
        *rights.ROLES,
        "43d0d8ad-25c7-4714-9337-8ba259a9fe05",  # Monitoring Reader
        "b24988ac-6180-42a0-ab88-20f7382dd24c",  # Contributor
    ]
)
"""Built-in roles by id (Azure RBAC, "Azure built-in roles")."""
CONDITIONS = "2.0"
"""Version of conditions that role assignments accept."""
UNKNOWN_SECONDS = 60
"""Seconds for which a new custom role cannot be assigned: 30 to 60 (MicrosoftDocs/azure-docs#99810)."""
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_GUID_RULE = "a GUID"
_ACTION = re.compile(r"\*(/[A-Za-z*]+)*|Microsoft\.[A-Za-z]+(/[A-Za-z*]+)+")
_PATH = "/providers/Microsoft.Authorization/"


def _scope(request: Request) -> None:
    """Check a scope: the subscription, a resource group, an existing resource in it, or a path below one."""
    scope = str(request.inputs["scope"]).rstrip("/")
    things = (one.id for one in request.cloud_state.resources())
    if scope != f"/subscriptions/{request.account}" and not any(f"{scope}/".startswith(f"{each}/") for each in things):
        raise Refusal("ResourceNotFound", f"The Resource '{scope}' was not found.")


def _assigned(request: Request) -> None:
    role, principal = str(request.inputs["roleDefinitionId"]), str(request.inputs["principalId"])
    id = role.rpartition("/")[2].lower()
    made = {one.id.rpartition("/")[2].lower(): one for one in request.cloud_state.resources(DEFINITION)}
    if id not in BUILT_IN and not (id in made and _is_known(request.cloud_state, made[id])):
        raise Refusal("RoleDefinitionDoesNotExist", f"The specified role definition with ID '{id}' does not exist.")
    known = {one.outputs["principalId"] for one in request.cloud_state.resources(IDENTITY.token)}
    if principal not in known and not any(
        (one.outputs.get("identity") or {}).get("principalId") == principal
        for one in request.cloud_state.resources(MACHINE.token)
    ):
        raise Refusal(
            "PrincipalNotFound",
            f"Principal {principal} does not exist in the directory {TENANT}. Check that you have the correct"
            " principal ID.",
        )
    try:
        rights.holds(request.inputs.get("condition") or "", "", "", "")
    except ValueError as error:
        raise Refusal("RoleAssignmentConditionInvalid", f"The condition is not valid: {error}") from None
    if request.inputs.get("condition") and request.inputs.get("conditionVersion") != CONDITIONS:
        raise Refusal("BadRequest", f"A condition needs conditionVersion {CONDITIONS}.")


def _is_known(cloud_state: CloudState, definition: Record) -> bool:
    """Return whether a custom role can be assigned: it is older than UNKNOWN_SECONDS, or a later call takes as long.

    A call counts by its simulated duration. Durations are not added up, because the engine makes calls at once.
    """
    created = datetime.strptime(definition.created, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    if datetime.now(timezone.utc) - created >= timedelta(seconds=UNKNOWN_SECONDS):
        return True
    (longest,) = cloud_state.connection.execute(
        "SELECT MAX(simulated_seconds) FROM operations WHERE error IS NULL AND sequence >"
        " (SELECT MAX(sequence) FROM operations WHERE kind = 'create' AND type = ? AND id = ?)",
        (DEFINITION, definition.id),
    ).fetchone()
    return (longest or 0) >= UNKNOWN_SECONDS


def _permissions(request: Request) -> None:
    if not request.inputs.get("assignableScopes"):
        raise Refusal("InvalidRoleDefinitionAssignableScopes", "A role definition has at least one assignable scope.")
    for row in request.inputs.get("permissions") or []:
        for name in ("actions", "notActions", "dataActions", "notDataActions"):
            for action in row.get(name) or []:
                if not _ACTION.fullmatch(action):
                    raise Refusal(
                        "InvalidActionOrNotAction",
                        f"'{action}' does not match any of the actions supported by the providers.",
                    )


def _in_use(request: Request) -> None:
    id = request.id.rpartition("/")[2]
    if any(str(one.inputs["roleDefinitionId"]).endswith(id) for one in request.cloud_state.resources(ASSIGNMENT)):
        raise Refusal("RoleDefinitionHasAssignments", "There are existing role assignments referencing role.")


def _named(name: str) -> Any:
    """Return the GUID that names a role: the given one, or one derived from the resource."""
    return lambda request: {name: request.inputs.get(name) or guid(request, name)}


def _id(path: str, name: str) -> Any:
    def id(request: Request) -> str:
        given = request.inputs.get(name) or guid(request, name)
        return f"{str(request.inputs['scope']).rstrip('/')}{_PATH}{path}/{given}"

    return id


def _gone(cloud_state: CloudState, id: str) -> tuple[str, str] | None:
    """Return what a read of a missing custom role gets; without its resource group, the provider knows the code."""
    scope, _, name = id.partition("/providers/Microsoft.Authorization/roleDefinitions/")
    if "/resourceGroups/" in scope and not cloud_state.find(RESOURCE_GROUP, scope):
        return None
    return "RoleDefinitionDoesNotExist", f"The specified role definition with ID '{name}' does not exist."


TYPES: dict[str, ResourceType] = {
    ASSIGNMENT: ResourceType(
        id=_id("roleAssignments", "roleAssignmentName"),
        immutable=("roleAssignmentName", "scope", "roleDefinitionId", "principalId", "principalType"),
        chosen=("roleAssignmentName", "principalType"),
        outputs={"azureApiVersion": "2022-04-01", "type": "Microsoft.Authorization/roleAssignments"},
        derive=lambda request: {
            **_named("roleAssignmentName")(request),
            "principalType": "ServicePrincipal",
            "name": request.id.rpartition("/")[2],
        },
        patterns={"roleAssignmentName": (_GUID, _GUID_RULE)},
        unique=(
            Unique(
                "role assignment",
                ("scope", "roleDefinitionId", "principalId"),
                "RoleAssignmentExists",
                "The role assignment already exists.",
            ),
        ),
        rules=(_scope, _assigned, QUOTAS.at_most("role assignments per subscription")),
    ),
    DEFINITION: ResourceType(
        id=_id("roleDefinitions", "roleDefinitionId"),
        immutable=("roleDefinitionId", "scope"),
        chosen=("roleDefinitionId", "roleType"),
        outputs={"azureApiVersion": "2022-04-01", "type": "Microsoft.Authorization/roleDefinitions"},
        derive=lambda request: {
            **_named("roleDefinitionId")(request),
            "roleType": "CustomRole",
            "name": request.id.rpartition("/")[2],
        },
        patterns={"roleDefinitionId": (_GUID, _GUID_RULE)},
        at_least_one=(("roleName",),),
        unique=(
            Unique(
                "custom role",
                ("roleName",),
                "RoleDefinitionWithSameNameExists",
                "The custom role definition with name '{in_.roleName}' already exists.",
            ),
        ),
        rules=(_scope, _permissions),
        delete_rules=(_in_use,),
        gone=_gone,
    ),
}
