"""Managed identities of a resource, as Resource Manager shows them."""

from typing import Any

from sandbox.azure import regions
from sandbox.azure.names import IDENTITY, guid
from sandbox.cloud import Request

SYSTEM = "SystemAssigned"
"""Part of `type`; the whole is one of SystemAssigned, UserAssigned, and both with a comma and a space between."""


def assigned(request: Request) -> dict[str, Any]:
    """Return the property `identity` of a resource, with the ids of each identity; nothing if it has none.

    A system-assigned identity is a new principal with each resource, and shows no client id. Identities outside this
    cloud state, such as one of the user, have no known ids.
    """
    identity = request.inputs.get("identity")
    if not identity:
        return {}
    known_by = {id: _known_by(request, id) for id in identity.get("userAssignedIdentities") or []}
    own = {"principalId": guid(request, "system-assigned")} if SYSTEM in str(identity.get("type")).split(", ") else {}
    return {"identity": {**identity, "userAssignedIdentities": known_by, **own, "tenantId": regions.TENANT}}


def _known_by(request: Request, id: str) -> dict[str, str]:
    record = request.cloud_state.find(IDENTITY.token, id)
    return {name: record.outputs[name] for name in ("clientId", "principalId")} if record else {}
