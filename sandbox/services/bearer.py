"""Bearer tokens of machine identities, derived from one key of the cloud state: issued tokens need no storage.

A token stays valid until it ends, also after its machine is deleted.
"""

import base64
import hmac
import json
from dataclasses import asdict, dataclass

from sandbox.cloud_state import CloudState
from sandbox.services.calls import Call, Refused
from sandbox.services.credentials import OVERLAP, signing_key

BAD = "the request has invalid authentication credentials"


@dataclass(frozen=True)
class Token:
    """Content of a token. Times are seconds since 1970."""

    machine: str
    """Instance id under which `Services.listen` knows the machine."""
    identity: str
    """Identity of the token: e-mail of a service account, or principal id of a managed identity."""
    audience: str
    """Audience: OAuth scopes, or one resource."""
    issued: int
    expires: int


def issue(
    cloud_state: CloudState, machine: str, identity: str, audience: str, now: float, lifetime: int
) -> tuple[str, Token]:
    """Return the current token for a time; the same token until the next one is due."""
    said = Token(machine, identity, audience, *span(now, lifetime))
    body = base64.urlsafe_b64encode(json.dumps(asdict(said), sort_keys=True).encode()).decode()
    return f"{body}.{_mac(cloud_state, body)}", said


def span(now: float, lifetime: int) -> tuple[int, int]:
    """Return beginning and end of the current token for a time."""
    period = lifetime - min(OVERLAP, lifetime // 2)
    issued = int(now // period * period)
    return issued, issued + lifetime


def shown(call: Call, anonymous: str) -> str:
    """Return the bearer token of a call. anonymous: message for a call without a token. Raises Refused."""
    given = call.headers.get("authorization")
    if given is None:
        raise Refused("anonymous", anonymous)
    scheme, _, text = given.partition(" ")
    if scheme != "Bearer":
        raise Refused("bad-token", BAD)
    return text


def read(cloud_state: CloudState, call: Call, now: float, anonymous: str) -> Token:
    """Return the token of a call. anonymous: message for a call without a token.

    Raises Refused if the token is missing (anonymous), forged (bad-token), or expired (expired).
    """
    body, _, mac = shown(call, anonymous).partition(".")
    if not hmac.compare_digest(_mac(cloud_state, body), mac):
        raise Refused("bad-token", BAD)
    return current(Token(**json.loads(base64.urlsafe_b64decode(body))), now)


def current(said: Token, now: float) -> Token:
    """Return the token. Raises Refused if it has expired."""
    if now >= said.expires:
        raise Refused("expired", "the token has expired")
    return said


def _mac(cloud_state: CloudState, text: str) -> str:
    return hmac.new(signing_key(cloud_state), f"bearer {text}".encode(), "sha256").hexdigest()
