"""Identity tokens of instances, signed with RS256, and the public keys that verify them.

Source: Compute Engine, "Verify the identity of instances": audience, format and claims of the token.
"""

from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services import signed_tokens
from sandbox.services.gcp import machine as machines
from sandbox.services.gcp.machine import PROJECT_NUMBER

ISSUER = "https://accounts.google.com"
PATH = "/oauth2/v3/certs"
"""Path of the public keys on www.googleapis.com."""
LIFETIME = 3600
"""Seconds for which a token is valid."""
_KEY = "gcp-identity-key"


def token(cloud_state: CloudState, machine: Record, email: str, audience: str, full: bool, now: float) -> str:
    """Return the identity token of an instance. full: with the claims about the instance."""
    claims: dict[str, Any] = {"aud": audience, "azp": "112233", "sub": "112233", "iss": ISSUER}
    claims |= {"iat": int(now), "exp": int(now) + LIFETIME}
    if full:
        claims |= {"email": email, "email_verified": True}
        compute = {
            "instance_id": str(machine.outputs["instanceId"]),
            "instance_name": machine.outputs["name"],
            "project_id": machine.outputs["project"],
            "project_number": int(PROJECT_NUMBER),
            "zone": machines.zone(machine),
        }
        claims["google"] = {"compute_engine": compute}
    return signed_tokens.signed(cloud_state, _KEY, claims)


def public_keys(cloud_state: CloudState) -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    return signed_tokens.public_keys(cloud_state, _KEY)
