"""JSON Web Tokens that a cloud signs with RS256, and the keys that verify them (RFC 7515, RFC 7517, RFC 7518)."""

import base64
import json
from functools import cache
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sandbox.cloud_state import CloudState

KEY_ID = "sandbox-1"


def signed(cloud_state: CloudState, key: str, claims: dict[str, Any]) -> str:
    """Return a token with these claims. key: name of the signing key in the state; the first call makes it."""
    header = {"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}
    text = ".".join(_text(json.dumps(each).encode()) for each in (header, claims))
    return f"{text}.{_text(_private(cloud_state, key).sign(text.encode(), padding.PKCS1v15(), SHA256()))}"


def claims(cloud_state: CloudState, key: str, token: str) -> dict[str, Any] | None:
    """Return the claims of a token; None if the key has not signed it."""
    text, _, signature = token.rpartition(".")
    try:
        public = _private(cloud_state, key).public_key()
        public.verify(decoded(signature), text.encode(), padding.PKCS1v15(), SHA256())
        return cast(dict[str, Any], json.loads(decoded(text.partition(".")[2])))
    except (InvalidSignature, ValueError):
        return None


def public_keys(cloud_state: CloudState, key: str) -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    numbers = _private(cloud_state, key).public_key().public_numbers()
    n, e = (_text(each.to_bytes((each.bit_length() + 7) // 8, "big")) for each in (numbers.n, numbers.e))
    return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "n": n, "e": e}]}


def _private(cloud_state: CloudState, key: str) -> rsa.RSAPrivateKey:
    """Return a signing key of a cloud state; the first call makes it."""
    pem = cloud_state.setting(key)
    if pem is None:
        made = rsa.generate_private_key(65537, 2048)
        pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        with cloud_state.transaction():
            pem = cloud_state.setting(key) or pem
            cloud_state.set_setting(key, pem)
    return _loaded(pem)


@cache
def _loaded(pem: str) -> rsa.RSAPrivateKey:
    """Return a key; a store gets a token with each request, and a load takes longer than a signature."""
    return cast(rsa.RSAPrivateKey, load_pem_private_key(pem.encode(), None))


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """Return the bytes of base64url without padding (RFC 7515, section 2)."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
