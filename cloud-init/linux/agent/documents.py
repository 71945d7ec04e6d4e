"""Documents in the bundle store that `mullion` signs: the desired-state pointer and the members.

docs/desired-state.md describes both. The store is not trusted: only the control plane's identity can read the secret
with the MAC's key, and a document older than the last accepted one is refused.
"""

import hashlib
import hmac
import json
from typing import Any

LARGEST = 16 * 2**20
"""Maximum bytes: a line of the members takes some hundred, so this is for tens of thousands of machines."""
POINTER = {"bundle": str, "sha256": str, "kubernetes": str, "pools": str, "serial": int}
MEMBERS = {"members": list, "serial": int}
"""Fields and types of each document. Exactly these are allowed, so neither document passes for the other."""


class Untrusted(Exception):
    """A refused document; the message has the reason."""


def verified(content: bytes, key: str, last: int, fields: dict[str, type]) -> dict[str, Any]:
    """Return the document without its MAC. `last`: the last accepted serial; the same serial is accepted again."""
    try:
        body = json.loads(content)
        mac = body.pop("mac")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Untrusted("not a signed document") from None
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    if not hmac.compare_digest(hmac.new(key.encode(), message, hashlib.sha256).hexdigest().encode(), f"{mac}".encode()):
        raise Untrusted("the MAC does not match the desired-state key")
    if {name: type(value) for name, value in body.items()} != fields:
        raise Untrusted(f"the document must have exactly the fields {', '.join(fields)}")
    if body["serial"] < last:
        raise Untrusted(f"its serial {body['serial']} is older than {last}")
    return body
