"""The public documents of a cluster's issuer: OpenID Connect discovery, and the keys that verify its tokens.

Pure. Sources: OpenID Connect Discovery 1.0, section 3; RFC 7517 and 7518; for the id of a key and the fields of both
documents kubernetes, pkg/serviceaccount/openidmetadata.go and jwt.go (keyIDFromPublicKey) of 1.37.1.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import TypedDict

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from components.spec.pod_identity import KEYS


class Issuer(TypedDict):
    """The issuer as API servers know it."""

    url: str
    """URL, without a slash at its end: the claim `iss` of tokens."""
    keys: str
    """URL of the keys."""


def issuer(url: str) -> Issuer:
    """Return the issuer at this URL."""
    return {"url": url, "keys": f"{url}/{KEYS}"}


def discovery(url: str) -> str:
    """Return the discovery document of the issuer at this URL."""
    document = {
        "issuer": url,
        "jwks_uri": issuer(url)["keys"],
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }
    return json.dumps(document)


def key_set(public: Sequence[str]) -> str:
    """Return the JSON web key set of public keys (PEM), in their order."""
    return json.dumps({"keys": [_key(pem) for pem in public]})


def md5(text: str) -> str:
    """Return the digest that Azure's Blob Storage keeps of a document, by which a refresh sees what others wrote."""
    return base64.b64encode(hashlib.md5(text.encode(), usedforsecurity=False).digest()).decode()


def _key(pem: str) -> dict[str, str]:
    key = serialization.load_pem_public_key(pem.encode())
    if not isinstance(key, rsa.RSAPublicKey):
        raise TypeError("a service-account key is not an RSA key; Mullion makes only these")
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    numbers = key.public_numbers()
    return {
        "use": "sig",
        "kty": "RSA",
        "kid": _text(hashlib.sha256(key.public_bytes(*form)).digest()),
        "alg": "RS256",
        "n": _text(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
        "e": _text(numbers.e.to_bytes((numbers.e.bit_length() + 7) // 8, "big")),
    }


def _text(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
