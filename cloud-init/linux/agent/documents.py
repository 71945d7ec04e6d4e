"""Signed documents: the desired-state pointer and the members, which `mullion` writes, and the agents' list of revoked
machines.

docs/desired-state.md describes the first two, agent/revoked_machines.py the third. The stores are not trusted: only the
control plane's identity can read the secret with the MAC's key. A document of `mullion` that is older than the last
accepted one is refused.
"""

import hashlib
import hmac
import json
from typing import Any

LARGEST = 16 * 2**20
"""Maximum bytes: a line of the members takes some hundred, so this is for tens of thousands of machines."""
POINTER = {"bundle": str, "sha256": str, "kubernetes": str, "pools": str, "serial": int}
MEMBERS = {"members": list, "serial": int}
REVOKED = {"revoked": dict}
"""Fields and types of each document. Exactly these are allowed, so no document passes for another."""


class Untrusted(Exception):
    """A refused document; the message has the reason."""


def verified(content: bytes, key: str, last: int, fields: dict[str, type]) -> dict[str, Any]:
    """Return the document without its MAC. `last`: the last accepted serial; the same serial is accepted again."""
    body = opened(content, key, fields)
    if body["serial"] < last:
        raise Untrusted(f"its serial {body['serial']} is older than {last}")
    return body


def opened(content: bytes, key: str, fields: dict[str, type]) -> dict[str, Any]:
    """Return a document without its MAC, whatever its serial."""
    try:
        body = json.loads(content)
        said = body.pop("mac")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Untrusted("not a signed document") from None
    if not hmac.compare_digest(mac(key, body).encode(), f"{said}".encode()):
        raise Untrusted("the MAC does not match the desired-state key")
    if {name: type(value) for name, value in body.items()} != fields:
        raise Untrusted(f"the document must have exactly the fields {', '.join(fields)}")
    return body


def signed(key: str, body: dict[str, Any]) -> bytes:
    """Return a document with its MAC."""
    return json.dumps({**body, "mac": mac(key, body)}, sort_keys=True).encode()


def mac(key: str, body: dict[str, Any]) -> str:
    """Return the HMAC-SHA-256 of a document; components/rollout/signed_documents.py computes the same."""
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    return hmac.new(key.encode(), message, hashlib.sha256).hexdigest()
