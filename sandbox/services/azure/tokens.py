"""Access tokens of managed identities, which Microsoft Entra ID signs, and the public keys that verify them.

Source: Microsoft identity platform, "Access token claims reference" (version 1.0).
"""

from collections.abc import Mapping
from typing import Any

from sandbox.azure.regions import TENANT
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services import bearer, signed_tokens
from sandbox.services.azure.machine import Identity
from sandbox.services.bearer import Token
from sandbox.services.calls import Call, Refused

ISSUER = f"https://sts.windows.net/{TENANT}/"
PATH = "/common/discovery/keys"
"""Path of the public keys on login.microsoftonline.com."""
_KEY = "azure-entra-key"


def issue(
    cloud_state: CloudState, machine: str, identity: Identity, audience: str, now: float, lifetime: int
) -> tuple[str, Token]:
    """Return the current token of a machine's identity; the same token until the next one is due."""
    of_machine = {"xms_az_rid": machine, "xms_mirid": identity.resource}
    return _signed(cloud_state, machine, identity, audience, bearer.span(now, lifetime), of_machine)


def of_workload(
    cloud_state: CloudState, identity: Record, audience: str, now: float, lifetime: int
) -> tuple[str, Token]:
    """Return a token of a managed identity for a workload outside machines, whose own token the identity trusts."""
    named = Identity(identity.id, identity.outputs["clientId"], identity.outputs["principalId"])
    span = (int(now), int(now) + lifetime)
    return _signed(cloud_state, "", named, audience, span, {"xms_mirid": identity.id})


def _signed(
    cloud_state: CloudState,
    machine: str,
    identity: Identity,
    audience: str,
    span: tuple[int, int],
    more: Mapping[str, str],
) -> tuple[str, Token]:
    said = Token(machine, identity.principal, audience.rstrip("/"), *span)
    claims = {
        "aud": audience,
        "iss": ISSUER,
        "iat": said.issued,
        "nbf": said.issued,
        "exp": said.expires,
        "appid": identity.client,
        "appidacr": "2",
        "idtyp": "app",
        "oid": said.identity,
        "sub": said.identity,
        "tid": TENANT,
        "ver": "1.0",
        **more,
    }
    return signed_tokens.signed(cloud_state, _KEY, claims), said


def read(cloud_state: CloudState, call: Call, now: float) -> Token:
    """Return the token of a call. Raises Refused if it is missing, forged or expired."""
    text = bearer.shown(call, "Public access is not permitted; a request takes a token.")
    said = claims(cloud_state, text)
    if said is None:
        raise Refused("bad-token", bearer.BAD)
    audience = str(said["aud"]).rstrip("/")
    return bearer.current(Token(said.get("xms_az_rid", ""), said["oid"], audience, said["iat"], said["exp"]), now)


def claims(cloud_state: CloudState, text: str) -> dict[str, Any] | None:
    """Return the claims of a token, also of one that has expired; None if it is forged."""
    return signed_tokens.claims(cloud_state, _KEY, text)


def public_keys(cloud_state: CloudState) -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    return signed_tokens.public_keys(cloud_state, _KEY)
