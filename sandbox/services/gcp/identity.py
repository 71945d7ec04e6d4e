"""Identity tokens of instances, signed with RS256, and the public keys that verify them.

Source: Compute Engine, "Verify the identity of instances": audience, format and claims of the token.
"""

import base64
import json
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.gcp import machine as machines
from sandbox.services.gcp.machine import PROJECT_NUMBER

ISSUER = "https://accounts.google.com"
PATH = "/oauth2/v3/certs"
"""Path of the public keys on www.googleapis.com."""
LIFETIME = 3600
"""Seconds for which a token is valid."""
_KEY, _KEY_ID = "gcp-identity-key", "sandbox-1"


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
    signed = ".".join(
        _text(json.dumps(each).encode()) for each in ({"alg": "RS256", "kid": _KEY_ID, "typ": "JWT"}, claims)
    )
    signature = _private(cloud_state).sign(signed.encode(), padding.PKCS1v15(), SHA256())
    return f"{signed}.{_text(signature)}"


def public_keys(cloud_state: CloudState) -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    numbers = _private(cloud_state).public_key().public_numbers()
    n, e = (_text(each.to_bytes((each.bit_length() + 7) // 8, "big")) for each in (numbers.n, numbers.e))
    return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": _KEY_ID, "n": n, "e": e}]}


def _private(cloud_state: CloudState) -> rsa.RSAPrivateKey:
    """Return the signing key of a cloud state; the first call makes it."""
    with cloud_state.transaction():
        pem = cloud_state.setting(_KEY)
        if pem is None:
            made = rsa.generate_private_key(65537, 2048)
            pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
            cloud_state.set_setting(_KEY, pem)
    return cast(rsa.RSAPrivateKey, load_pem_private_key(pem.encode(), None))


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
