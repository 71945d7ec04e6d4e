"""The Instance Metadata Service: values of the machine, tokens of its identities.

Sources: Azure Virtual Machines, "Azure Instance Metadata Service"; managed identities, "How to use managed identities
on a VM to acquire an access token" (errors and their statuses), "Frequently asked questions" (the identity of a request
that names none).
"""

import json
import re
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl
from uuid import NAMESPACE_URL, uuid5

from sandbox import interruptions
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.azure import machine as machines
from sandbox.services.azure import tokens
from sandbox.services.calls import Answer, Call, Refused

JSON = {"content-type": "application/json; charset=utf-8", "server": "IMDS/150.870.65.1854"}
TOKEN, INSTANCE, EVENTS = "/metadata/identity/oauth2/token", "/metadata/instance", "/metadata/scheduledevents"
TOKEN_VERSIONS = ("2018-02-01", "2019-08-01", "2021-12-13")
VERSIONS = ("2019-08-15", "2020-09-01", "2021-01-01", "2021-02-01", "2021-12-13", "2023-07-01")
EVENT_VERSIONS = ("2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NAMES = ("client_id", "object_id", "msi_res_id")
"""Query parameters that select an identity."""
RESOURCES = re.compile(
    r"https://(storage\.azure\.com|vault\.azure\.net|management\.azure\.com|containerregistry\.azure\.net)/?"
)
LONGEST = 86400
"""Lifetime of a token in seconds."""


@dataclass(frozen=True)
class Metadata:
    """The service for the machines of one cloud state."""

    cloud_state: CloudState
    lifetime: int
    """Lifetime of tokens in seconds."""

    def answer(self, call: Call, now: float) -> Answer:
        """Answer one request."""
        machine = machines.find(self.cloud_state, call)
        if machine is None:
            raise Refused("not_found", f"the sandbox has no machine {call.machine or call.source}", 404)
        if call.headers.get("metadata", "").lower() != "true":
            raise Refused("invalid_request", "Required metadata header not specified")
        if "x-forwarded-for" in call.headers:
            raise Refused("invalid_request", "X-Forwarded-For is not allowed")
        if call.method != "GET":
            raise Refused("method_not_allowed", "", 405)
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        token, path = call.path == TOKEN, call.path.rstrip("/")
        events = path == EVENTS
        if not token and not events and path != INSTANCE and not path.startswith(f"{INSTANCE}/"):
            raise Refused("not_found", "", 404)
        known = TOKEN_VERSIONS if token else EVENT_VERSIONS if events else VERSIONS
        if query.pop("api-version", "") not in known:
            raise Refused("Bad request. api-version is invalid or was not specified in the request.", ", ".join(known))
        if events:
            return Answer(200, json.dumps(self._events(machine)).encode(), JSON)
        return self._token(machine, query, now) if token else self._value(machine, path, query)

    def _events(self, machine: Record) -> dict[str, Any]:
        """Return the scheduled events of the machine ("Azure Metadata Service: Scheduled Events")."""
        end = interruptions.announced(self.cloud_state, machine)
        if end is None:
            return {"DocumentIncarnation": 1, "Events": []}
        event = {
            "EventId": str(uuid5(NAMESPACE_URL, f"{machine.id} {end}")),
            "EventType": "Preempt",
            "ResourceType": "VirtualMachine",
            "Resources": [machine.id.rpartition("/")[2]],
            "EventStatus": "Scheduled",
            "NotBefore": formatdate(end, usegmt=True),
            "Description": "",
            "EventSource": "Platform",
            "DurationInSeconds": -1,
        }
        return {"DocumentIncarnation": 2, "Events": [event]}

    def _token(self, machine: Record, query: dict[str, str], now: float) -> Answer:
        resource = query.pop("resource", "")
        if not resource:
            raise Refused("invalid_request", "Required query variable 'resource' is missing")
        if not RESOURCES.fullmatch(resource):
            text = f"AADSTS500011: The resource principal named {resource} was not found in the tenant"
            raise Refused("invalid_resource", text)
        identity = self._identity(machine, query)
        text, said = tokens.issue(self.cloud_state, machine.id, identity, resource, now, self.lifetime)
        given = {
            "access_token": text,
            "client_id": identity.client,
            "expires_in": str(said.expires - int(now)),
            "expires_on": str(said.expires),
            "ext_expires_in": str(said.expires - int(now)),
            "not_before": str(said.issued),
            "resource": resource,
            "token_type": "Bearer",
        }
        return Answer(200, json.dumps(given).encode(), JSON)

    def _identity(self, machine: Record, query: dict[str, str]) -> machines.Identity:
        """Return the identity that a request names, or else the system-assigned one, or the machine's only one."""
        if set(query) - set(NAMES) or len(query) > 1:
            raise Refused(
                "invalid_request", f"name one identity by one of {', '.join(NAMES)}, not by {', '.join(query)}"
            )
        own = machines.own_identity(machine)
        had = [
            machines.Identity(each.id, each.outputs["clientId"], each.outputs["principalId"])
            for each in machines.identities(self.cloud_state, machine)
        ]
        if query:
            name, value = next(iter(query.items()))
            field = {"client_id": "client", "object_id": "principal"}.get(name, "resource")
            had = [each for each in (*had, *([own] if own else [])) if value == getattr(each, field)]
        elif own:
            return own
        if not had:
            raise Refused("invalid_request", "Identity not found")
        if len(had) > 1:
            text = "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity"
            raise Refused("invalid_request", f"{text} in the token request")
        return had[0]

    def _value(self, machine: Record, path: str, query: dict[str, str]) -> Answer:
        value: Any = _tree(machine, machines.address(self.cloud_state, machine))
        for part in filter(None, path.removeprefix(INSTANCE).split("/")):
            if isinstance(value, list):
                value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            raise Refused("Not found", "", 404)
        leaf, form = isinstance(value, str), query.get("format", "json")
        if leaf != (form == "text") or set(query) - {"format"}:
            raise Refused("Bad request. Format is not valid", f"format={form} of {path}")
        return Answer(200, value.encode() if leaf else json.dumps(value).encode(), JSON)


def _tree(machine: Record, address: str) -> dict[str, Any]:
    """Return everything below `instance`. Azure serves userData there, but never customData."""
    given = machine.outputs
    compute = {
        "azEnvironment": "AzurePublicCloud",
        "customData": "",
        "location": given.get("location", ""),
        "name": machine.id.rpartition("/")[2],
        "resourceGroupName": machines.group(machine),
        "resourceId": machine.id,
        "subscriptionId": machine.id.split("/")[2],
        "userData": given.get("userData") or "",
        "vmId": given["vmId"],
        "vmSize": (given.get("hardwareProfile") or {}).get("vmSize", ""),
        "zone": next(iter(given.get("zones") or []), ""),
    }
    addresses = [{"privateIpAddress": address, "publicIpAddress": ""}]
    return {"compute": compute, "network": {"interface": [{"ipv4": {"ipAddress": addresses}}]}}


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in the service's format, and its code."""
    throttled = refused.why == "throttled"
    status, code = (429, "Too many requests") if throttled else (refused.status or 400, refused.why)
    body = json.dumps({"error": code, "error_description": refused.message}).encode()
    return Answer(status, body, JSON | ({"retry-after": "1"} if throttled else {})), code
