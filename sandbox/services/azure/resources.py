"""Resource Manager: the list of a group's virtual machines. Source: Compute REST API, Virtual Machines - List."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.azure.rights import refused as not_allowed
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.azure import responses
from sandbox.services.azure.machine import MACHINE
from sandbox.services.calls import Answer, Call, Codes, Refused

ACTION = "Microsoft.Compute/virtualMachines/read"
VERSIONS = ("2023-09-01", "2024-03-01", "2024-07-01", "2024-11-01")
PAGE = 50
"""Machines on one page; Azure does not document its own figure."""
CODES: Codes = {
    "anonymous": (401, "AuthenticationFailed"),
    "bad-token": (401, "InvalidAuthenticationToken"),
    "expired": (401, "ExpiredAuthenticationToken"),
    "audience": (401, "InvalidAuthenticationTokenAudience"),
    "denied": (403, "AuthorizationFailed"),
    "throttled": (429, "TooManyRequests"),
    "failed": (500, "InternalServerError"),
}
_PLACE = re.compile(
    r"(?P<group>/subscriptions/[^/]+/resourceGroups/[^/]+)/providers/Microsoft\.Compute/virtualMachines", re.IGNORECASE
)
CHALLENGE = 'Bearer authorization_uri="https://login.microsoftonline.com/common", error="invalid_token"'


@dataclass(frozen=True)
class Machines:
    """The virtual machines of one cloud state, as seen by one principal."""

    cloud_state: CloudState
    principal: str

    def answer(self, call: Call) -> Answer:
        """Answer a call: one page of a resource group's machines."""
        place = _PLACE.fullmatch(call.path)
        if not place or call.method != "GET":
            raise Refused("InvalidResourceType", f"the sandbox does not support {call.method} {call.path}", 404)
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        version = query.pop("api-version", "")
        if not version:
            text = "The api-version query parameter (?api-version=) is required for all requests."
            raise Refused("MissingApiVersionParameter", text)
        if version not in VERSIONS or set(query) - {"$skiptoken"}:
            raise Refused("NoRegisteredProviderFound", f"the sandbox does not support {call.query}")
        why = not_allowed(self.cloud_state, self.principal, ACTION, place["group"], data=False)
        if why:
            raise Refused("denied", f"The client {why} or the scope is invalid.")
        group, start = f"{place['group'].lower()}/", int(query.get("$skiptoken", 0))
        found = [one for one in self.cloud_state.resources(MACHINE) if one.id.lower().startswith(group)]
        listed: dict[str, Any] = {"value": [_machine(one) for one in found[start : start + PAGE]]}
        if start + PAGE < len(found):
            # machines of the sandbox reach the services over http. Like Azure's, the link names the port
            host, _, port = call.headers["host"].partition(":")
            host = f"http://{host}:{port or 80}"
            listed["nextLink"] = f"{host}{call.path}?api-version={version}&$skiptoken={start + PAGE}"
        return responses.answer(listed)


def _machine(one: Record) -> dict[str, Any]:
    return {
        "name": one.id.rpartition("/")[2],
        "id": one.id,
        "type": "Microsoft.Compute/virtualMachines",
        "location": one.outputs.get("location", ""),
        **({"identity": one.outputs["identity"]} if one.outputs.get("identity") else {}),
        "properties": {"vmId": one.outputs["vmId"], "provisioningState": "Succeeded"},
    }


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in Resource Manager's format, and its code."""
    return responses.refusal(refused, CODES, CHALLENGE)
