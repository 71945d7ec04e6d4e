"""Key Vault: Get Secret and Set Secret. Source: Key Vault REST API reference, version 7.4."""

import json
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from sandbox.azure.rights import GET, SET
from sandbox.azure.rights import refused as not_allowed
from sandbox.cloud_state import CloudState, now
from sandbox.records import Record
from sandbox.services.azure import responses
from sandbox.services.calls import Answer, Call, Codes, Refused

VAULT = "azure-native:keyvault:Vault"
VERSIONS = ("7.2", "7.3", "7.4", "7.5", "7.6", "2025-07-01", "2026-04-01")
VALUE_LIMIT = 25 * 1024
"""Largest secret value in bytes (Key Vault, "About keys, secrets, and certificates")."""
CODES: Codes = {
    "anonymous": (401, "Unauthorized"),
    "bad-token": (401, "Unauthorized"),
    "expired": (401, "Unauthorized"),
    "audience": (401, "Unauthorized"),
    "denied": (403, "Forbidden"),
    "throttled": (429, "Throttled"),
    "failed": (500, "InternalError"),
    "SecretNotFound": (404, "SecretNotFound"),
    "VaultNotFound": (404, "VaultNotFound"),
    "BadParameter": (400, "BadParameter"),
}
CONTENT_TYPE_LIMIT = 255
"""Longest content type ("About Azure Key Vault secrets")."""
FIELDS = {"value", "contentType", "attributes", "tags"}
_PLACE = re.compile(r"/secrets/(?P<name>[0-9A-Za-z-]{1,127})(?:/(?P<version>[0-9a-f]{32})?)?")
CHALLENGE = 'Bearer authorization="https://login.microsoftonline.com/{tenant}", resource="https://vault.azure.net"'


@dataclass(frozen=True)
class Secrets:
    """The vaults of one cloud state, as seen by one principal."""

    cloud_state: CloudState
    principal: str

    def answer(self, call: Call, vault: str) -> Answer:
        """Answer a call on a vault; an empty name means the only vault."""
        records = [one for one in self.cloud_state.resources(VAULT) if vault in ("", one.id.rpartition("/")[2].lower())]
        if not records:
            raise Refused("VaultNotFound", f"there is no vault {vault}")
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        if query.pop("api-version", "") not in VERSIONS or query:
            raise Refused("BadParameter", "The request URI contains an invalid api-version or query")
        place = _PLACE.fullmatch(call.path)
        if not place or call.method not in ("GET", "PUT") or (call.method == "PUT" and place["version"]):
            raise Refused("BadParameter", f"the sandbox does not support {call.method} {call.path}", 405)
        action = GET if call.method == "GET" else SET
        why = not_allowed(self.cloud_state, self.principal, action, f"{records[0].id}/secrets/{place['name']}")
        if why:
            raise Refused("denied", f"Caller is not authorized to perform action on resource. {why}")
        if call.method == "GET":
            return self._get(records[0], place["name"], place["version"])
        return self._set(records[0], place["name"], call)

    def _get(self, vault: Record, name: str, version: str | None) -> Answer:
        kept = self.cloud_state.secret_values(_key(vault, name))
        wanted = version or next(reversed(kept), "")
        if wanted not in kept:
            text = f"A secret with (name/id) {name} was not found in this key vault."
            raise Refused("SecretNotFound", text)
        return responses.answer(_bundle(vault, name, wanted, kept[wanted]))

    def _set(self, vault: Record, name: str, call: Call) -> Answer:
        try:
            body: Any = json.loads(call.body)
            value = body["value"]
        except (ValueError, KeyError, TypeError):
            raise Refused("BadParameter", "Property 'value' is required, in a JSON document") from None
        if call.headers.get("content-type", "").partition(";")[0] != "application/json" or set(body) - FIELDS:
            raise Refused(
                "BadParameter",
                f"the sandbox does not support {', '.join(sorted(set(body) - FIELDS)) or 'content type'}",
            )
        if not isinstance(value, str) or len(value.encode()) > VALUE_LIMIT:
            raise Refused("BadParameter", f"A secret's value has at most {VALUE_LIMIT} bytes.")
        kind = body.get("contentType", "")
        if not isinstance(kind, str) or len(kind) > CONTENT_TYPE_LIMIT:
            raise Refused("BadParameter", f"A secret's contentType has at most {CONTENT_TYPE_LIMIT} characters.")
        version = uuid.uuid4().hex
        with self.cloud_state.transaction():
            self.cloud_state.put_secret(_key(vault, name), version, value)
        return responses.answer(_bundle(vault, name, version, value) | ({"contentType": kind} if kind else {}))


def _key(vault: Record, name: str) -> str:
    """Return the key of the secret's values in the cloud state, which is also its id."""
    return f"https://{vault.id.rpartition('/')[2].lower()}.vault.azure.net/secrets/{name}"


def _bundle(vault: Record, name: str, version: str, value: str) -> dict[str, Any]:
    moment = int(datetime.fromisoformat(now().replace("Z", "+00:00")).timestamp())
    attributes = {"enabled": True, "created": moment, "updated": moment, "recoveryLevel": "Recoverable+Purgeable"}
    return {"value": value, "id": f"{_key(vault, name)}/{version}", "attributes": attributes, "tags": {}}


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in Key Vault's format, and its code."""
    return responses.refusal(refused, CODES, CHALLENGE.format(tenant="00000000-0000-0000-0000-000000000000"))
