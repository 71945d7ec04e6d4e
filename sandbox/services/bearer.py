"""Bearer tokens of machines' identities: made from one key of the world, so that nothing is kept of those given out."""

import base64
import hmac
import json
from dataclasses import asdict, dataclass

from sandbox.cloud_state import CloudState
from sandbox.services.calls import Call, Refused
from sandbox.services.credentials import OVERLAP, signing_key


@dataclass(frozen=True)
class Token:
    """What a token says. Times are seconds since 1970."""

    machine: str
    """Id by which `Services.listen` knows it."""
    identity: str
    """Whose it is: e-mail of a service account, principal id of a managed identity."""
    audience: str
    """What it is good for: scopes, or one resource."""
    issued: int
    expires: int


def issue(
    cloud_state: CloudState, machine: str, identity: str, audience: str, now: float, lifetime: int
) -> tuple[str, Token]:
    """The token that is current at a time; the same one until a newer one is due."""
    period = lifetime - min(OVERLAP, lifetime // 2)
    issued = int(now // period * period)
    said = Token(machine, identity, audience, issued, issued + lifetime)
    body = base64.urlsafe_b64encode(json.dumps(asdict(said), sort_keys=True).encode()).decode()
    return f"{body}.{_mac(cloud_state, body)}", said


def read(cloud_state: CloudState, call: Call, now: float, kind: str, anonymous: str) -> Token:
    """The token that a call shows. kind: type of machines. anonymous: what a call without one is told.

    Refused where there is none (anonymous), where it is made up or its machine is gone (bad-token), or old (expired).
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
