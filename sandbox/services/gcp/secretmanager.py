"""Secret Manager: access, addVersion and destroy of a secret's versions, over REST.

Source: Secret Manager API reference, version v1.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.gcp.rights import refused as not_allowed
from sandbox.records import Record
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.gcp.crc32c import crc32c
from sandbox.services.gcp.machine import PROJECT_NUMBER
from sandbox.services.gcp.responses import answer, refusal

__all__ = ["Secrets", "refusal"]

ENTRY = "gcp:secretmanager/secret:Secret"
VALUE_LIMIT = 64 * 1024
"""Largest payload in bytes (Secret Manager, "Quotas and limits")."""
_PLACE = re.compile(
    r"/v1/(?P<secret>projects/(?P<project>[^/]+)/secrets/(?P<name>[A-Za-z0-9_-]{1,255}))"
    r"(?:/versions/(?P<version>latest|[1-9][0-9]*))?:(?P<verb>[a-zA-Z]+)"
)
LAG_SECONDS = 3.0
"""Time for which `latest` names the version before a new one. In the cloud minutes, or a few hours ("Resource
consistency"); a read by number is consistent."""
VERBS = {"access": ("GET", "access"), "addVersion": ("POST", "add"), "destroy": ("POST", "destroy")}
"""HTTP method and permission, by verb."""


@dataclass(frozen=True)
class Secrets:
    """The secrets of one cloud state, as seen by one member."""

    cloud_state: CloudState
    member: str

    def answer(self, call: Call) -> Answer:
        """Answer a call."""
        place = _PLACE.fullmatch(call.path)
        method, action = VERBS.get(place["verb"] if place else "", ("", ""))
        if not place or call.method != method or (place["verb"] == "addVersion") == bool(place["version"]):
            raise Refused("NOT_FOUND", f"{call.method} {call.path} is no method of this service.")
        why = not_allowed(self.cloud_state, self.member, f"secretmanager.versions.{action}", place["secret"])
        if why:
            raise Refused("denied", f"Permission 'secretmanager.versions.{action}' denied for resource ({why}).")
        record = self._find(place["project"], place["name"])
        if place["verb"] == "addVersion":
            return self._add(record, _body(call, {"payload"}))
        if place["verb"] == "access":
            return self._access(record, place["version"])
        _body(call, {"etag"})
        return self._destroy(record, place["version"])

    def _find(self, project: str, name: str) -> Record:
        for record in self.cloud_state.resources(ENTRY):
            given = record.outputs
            if given["secretId"] == name and project in (given.get("project"), PROJECT_NUMBER):
                return record
        raise Refused("NOT_FOUND", f"Secret [projects/{PROJECT_NUMBER}/secrets/{name}] not found or has no versions.")

    def _versions(self, record: Record) -> dict[str, str]:
        """Return values by version number, oldest first."""
        kept = self.cloud_state.secret_values(_key(record))
        return dict(sorted(kept.items(), key=lambda each: int(each[0])))

    def _about(self, record: Record, number: str) -> dict[str, Any]:
        name = f"projects/{PROJECT_NUMBER}/secrets/{record.outputs['secretId']}/versions/{number}"
        state = "ENABLED" if self._versions(record)[number] else "DESTROYED"
        return {"name": name, "createTime": record.created, "state": state, "etag": f'"{number}"'}

    def _number(self, record: Record, version: str) -> str:
        kept = self._versions(record)
        number = self._latest(record, list(kept)) if version == "latest" else version
        if number not in kept:
            name = f"projects/{PROJECT_NUMBER}/secrets/{record.outputs['secretId']}"
            raise Refused("NOT_FOUND", f"Secret Version [{name}/versions/{version}] not found.")
        return number

    def _latest(self, record: Record, numbers: list[str]) -> str:
        if len(numbers) > 1 and self.cloud_state.secret_age(_key(record), numbers[-1]) < LAG_SECONDS:
            return numbers[-2]
        return numbers[-1] if numbers else ""

    def _access(self, record: Record, version: str) -> Answer:
        number = self._number(record, version)
        content = self._versions(record)[number].encode()
        about = self._about(record, number)
        if not content:
            raise Refused("FAILED_PRECONDITION", f"Secret Version [{about['name']}] is in DESTROYED state.")
        payload = {"data": base64.b64encode(content).decode(), "dataCrc32c": str(crc32c(content))}
        return answer({"name": about["name"], "payload": payload})

    def _add(self, record: Record, body: dict[str, Any]) -> Answer:
        given: Any = body.get("payload")
        try:
            content = base64.b64decode(given["data"], validate=True)
            if "dataCrc32c" in given and int(given["dataCrc32c"]) != crc32c(content):
                raise Refused("INVALID_ARGUMENT", "the checksum is of another payload")
        except (KeyError, TypeError, binascii.Error):
            raise Refused("INVALID_ARGUMENT", "Secret Payload cannot be empty.") from None
        if not 1 <= len(content) <= VALUE_LIMIT:
            raise Refused("INVALID_ARGUMENT", f"The field [SecretPayload.data] has 1 to {VALUE_LIMIT} bytes.")
        with self.cloud_state.transaction():
            number = str(int(next(reversed(self._versions(record)), "0")) + 1)
            self.cloud_state.put_secret(_key(record), number, content.decode())
        return answer(self._about(record, number))

    def _destroy(self, record: Record, version: str) -> Answer:
        number = self._number(record, version)
        if not self._versions(record)[number]:
            raise Refused("FAILED_PRECONDITION", "the version is in DESTROYED state already")
        self.cloud_state.blank_secret(_key(record), number)
        return answer(self._about(record, number))


def _key(record: Record) -> str:
    """Return the key of the secret's values in the cloud state."""
    return f"projects/{record.outputs['project']}/secrets/{record.outputs['secretId']}"


def _body(call: Call, fields: set[str]) -> dict[str, Any]:
    """Parse the JSON body of a call. Raises Refused if it is no JSON, or has a field that the method does not know."""
    try:
        body = json.loads(call.body or b"{}")
    except ValueError:
        raise Refused("INVALID_ARGUMENT", "Invalid JSON payload received.") from None
    unknown = sorted(set(body) - fields) if isinstance(body, dict) else ["the document"]
    if unknown:
        raise Refused("INVALID_ARGUMENT", f'Invalid JSON payload received. Unknown name "{unknown[0]}"')
    return body
