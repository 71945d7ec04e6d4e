"""Documents of the bundle store that the program signs: the desired-state pointer, and the members.

docs/desired-state.md has both. The store is not trusted: the MAC's key is in a secret that the control plane's identity
alone can read, and a document that is older than the one followed last is refused.
"""

import hashlib
import hmac
import json
from typing import Any

POINTER = {"bundle": str, "sha256": str, "kubernetes": str, "pools": str, "serial": int}
MEMBERS = {"members": list, "serial": int}
"""Fields with their types; a document has exactly these and its MAC, so neither passes for the other."""


class Untrusted(Exception):
    """A document does not count; the message says why."""


def verified(content: bytes, key: str, last: int, fields: dict[str, type]) -> dict[str, Any]:
    """The document, without its MAC. `last`: the serial followed last; the same one may come again."""
    try:
        body = json.loads(content)
        mac = body.pop("mac")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Untrusted("it is no signed document") from None
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    if not hmac.compare_digest(hmac.new(key.encode(), message, hashlib.sha256).hexdigest().encode(), f"{mac}".encode()):
        raise Untrusted("its MAC is not of the desired-state key")
    if {name: type(value) for name, value in body.items()} != fields:
        raise Untrusted(f"it has not exactly the fields {', '.join(fields)}")
    if body["serial"] < last:
        raise Untrusted(f"its serial {body['serial']} is older than {last}")
    return body
