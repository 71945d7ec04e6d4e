"""User-assigned identities that a resource names, as Resource Manager shows them."""

from typing import Any

from sandbox.azure import regions
from sandbox.azure.names import IDENTITY
from sandbox.cloud import Request


def assigned(request: Request) -> dict[str, Any]:
    """Return the property `identity` of a resource, with both ids of each identity; nothing if it has none.

    Identities outside this cloud state, such as one of the user, have no known ids.
    """
    identity = request.inputs.get("identity")
    if not identity:
        return {}
    known_by = {id: _known_by(request, id) for id in identity.get("userAssignedIdentities") or []}
    return {"identity": {**identity, "userAssignedIdentities": known_by, "tenantId": regions.TENANT}}


def _known_by(request: Request, id: str) -> dict[str, str]:
    record = request.cloud_state.find(IDENTITY.token, id)
    return {name: record.outputs[name] for name in ("clientId", "principalId")} if record else {}
