"""Role-based access control: roles assigned to a principal at a scope, under their conditions.

Sources: Azure RBAC, "Understand Azure role definitions", "Azure built-in roles" (the actions that the services check),
"Azure role assignment condition format and syntax". Names of actions, ids and scopes ignore case.
"""

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sandbox.cloud_state import CloudState

ASSIGNMENT = "azure-native:authorization:RoleAssignment"
DEFINITION = "azure-native:authorization:RoleDefinition"
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
PULL = "Microsoft.ContainerRegistry/registries/pull/read"
GET, SET = (f"Microsoft.KeyVault/vaults/secrets/{each}Secret/action" for each in ("get", "set"))

Row = Mapping[str, Iterable[str]]
"""One row of a role's permissions: actions, notActions, dataActions, notDataActions."""
ROLES: Mapping[str, Row] = {
    # Reader
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": {"actions": ["*/read"]},
    # Storage Blob Data Reader
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": {"dataActions": [f"{BLOBS}/read"]},
    # Storage Blob Data Contributor
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": {
        "dataActions": [f"{BLOBS}/{each}" for each in ("read", "write", "delete", "move/action", "add/action")]
    },
    # AcrPull
    "7f951dda-4ed3-4680-a7ca-43fe172d538d": {"actions": [PULL]},
    # Key Vault Secrets User
    "4633458b-17de-408a-b874-0445c86b69e6": {"dataActions": [GET, GET.replace("getSecret", "readMetadata")]},
    # Key Vault Secrets Officer
    "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": {"dataActions": ["Microsoft.KeyVault/vaults/secrets/*"]},
}
"""Built-in roles by id; an unlisted role grants nothing here."""


def refused(
    cloud_state: CloudState,
    principal: str,
    action: str,
    resource: str,
    *,
    data: bool = True,
    path: str = "",
    sub: str = "",
) -> str:
    """Return why a principal may not act on a resource; an empty string if it may.

    resource: an ARM id. data: the action is a data action. path: of a blob. sub: a sub-operation that conditions may
    name, such as Blob.List.
    """
    for assignment in cloud_state.resources(ASSIGNMENT):
        given = assignment.inputs
        scope = str(given["scope"]).rstrip("/").lower()
        inside = f"{resource.lower()}/".startswith(f"{scope}/")
        if given["principalId"] != principal or not inside:
            continue
        allowed = any(_allows(row, action, data) for row in permissions(cloud_state, str(given["roleDefinitionId"])))
        if allowed and holds(given.get("condition") or "", action, sub, path):
            return ""
    return f"{principal} does not have authorization to perform action '{action}' over scope '{resource}'"


def permissions(cloud_state: CloudState, role: str) -> list[Row]:
    """Return the permission rows of a built-in or custom role."""
    id = role.rpartition("/")[2].lower()
    for each in cloud_state.resources(DEFINITION):
        if role.lower() == each.id.lower() or id == str(each.inputs.get("roleDefinitionId", "")).lower():
            return list(each.inputs["permissions"])
    return [ROLES[id]] if id in ROLES else []


def _allows(row: Row, action: str, data: bool) -> bool:
    names = ("dataActions", "notDataActions") if data else ("actions", "notActions")
    yes, no = (any(_like(action, each) for each in row.get(name) or ()) for name in names)
    return yes and not no


def _like(text: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(text.lower(), pattern.lower())


_TOKEN = re.compile(
    r"\s*(?:(?P<sign>[()!])|(?P<word>AND|OR|NOT)\b|(?P<what>Action|SubOperation)Matches\s*\{\s*'(?P<wanted>[^']*)'\s*\}"
    r"|@(?:Resource|Request)\[(?P<attribute>[^\]]+)\]\s+(?P<operator>\w+)\s+'(?P<value>[^']*)')"
)
OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda text, value: text == value,
    "StringStartsWith": lambda text, value: text.startswith(value),
    "StringLike": fnmatch.fnmatchcase,
}


def holds(condition: str, action: str, sub: str, path: str) -> bool:
    """Return whether a condition allows an action. Raises ValueError for unknown syntax: the sandbox must not guess."""
    if not condition:
        return True
    tokens = list(_tokens(condition, action, sub, path))
    result = _any(tokens)
    if tokens:
        raise ValueError(f"the sandbox cannot read the condition {condition!r} to its end; see sandbox/azure/rights.py")
    return result


def _tokens(condition: str, action: str, sub: str, path: str) -> Iterator[Any]:
    """Return the tokens of a condition, with terms replaced by their values."""
    place = 0
    while place < len(condition.rstrip()):
        found = _TOKEN.match(condition, place)
        if not found:
            raise ValueError(f"the sandbox does not know the condition's {condition[place : place + 60]!r}")
        place = found.end()
        if found["sign"] or found["word"]:
            yield found["sign"] or found["word"]
        elif found["what"]:
            yield sub == found["wanted"] if found["what"] == "SubOperation" else _like(action, found["wanted"])
        elif found["attribute"] == f"{BLOBS}:path" and found["operator"] in OPERATORS:
            yield OPERATORS[found["operator"]](path, found["value"])
        else:
            raise ValueError(f"the sandbox does not know {found['attribute']} {found['operator']} of a condition")


def _any(tokens: list[Any]) -> bool:
    result = _all(tokens)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        result = _all(tokens) or result
    return result


def _all(tokens: list[Any]) -> bool:
    result = _one(tokens)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        result = _one(tokens) and result
    return result


def _one(tokens: list[Any]) -> bool:
    if not tokens:
        raise ValueError("the condition ends where a term must come")
    first = tokens.pop(0)
    if first in ("!", "NOT"):
        return not _one(tokens)
    if first == "(":
        result = _any(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("the condition lacks a )")
        return result
    if first not in (True, False):
        raise ValueError(f"the condition has {first!r} where a term must come")
    return bool(first)
