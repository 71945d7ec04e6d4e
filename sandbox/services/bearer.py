"""Bearer tokens of machine identities, derived from one key of the cloud state: issued tokens need no storage."""

import base64
import hmac
import json
from dataclasses import asdict, dataclass

from sandbox.cloud_state import CloudState
from sandbox.services.calls import Call, Refused
from sandbox.services.credentials import OVERLAP, signing_key


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
    period = lifetime - min(OVERLAP, lifetime // 2)
    issued = int(now // period * period)
    said = Token(machine, identity, audience, issued, issued + lifetime)
    body = base64.urlsafe_b64encode(json.dumps(asdict(said), sort_keys=True).encode()).decode()
    return f"{body}.{_mac(cloud_state, body)}", said


def read(cloud_state: CloudState, call: Call, now: float, kind: str, anonymous: str) -> Token:
    """Return the token of a call. kind: resource type of machines. anonymous: message for a call without a token.

    Raises Refused if the token is missing (anonymous), forged or of a deleted machine (bad-token), or expired
    (expired).
    """
    shown = call.headers.get("authorization")
    if shown is None:
        raise Refused("anonymous", anonymous)
    scheme, _, text = shown.partition(" ")
    body, _, mac = text.partition(".")
    if scheme != "Bearer" or not hmac.compare_digest(_mac(cloud_state, body), mac):
        raise Refused("bad-token", "the request has invalid authentication credentials")
    said = Token(**json.loads(base64.urlsafe_b64decode(body)))
    if now >= said.expires:
        raise Refused("expired", "the token has expired")
    if not cloud_state.find(kind, said.machine):
        raise Refused("bad-token", "the machine of this token is gone")
    return said


def _mac(cloud_state: CloudState, text: str) -> str:
    return hmac.new(signing_key(cloud_state), f"bearer {text}".encode(), "sha256").hexdigest()
