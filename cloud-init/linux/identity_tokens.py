"""Identity tokens of Google Cloud's machines, verified with Google's published keys.

A machine asks its metadata server for a token with an audience of its choice. Nobody else gets one with the machine's
instance id, also no machine with the same service account (Compute Engine, "Verify the identity of instances").
Such a token is a JSON Web Token, signed with RS256 (RFC 7515, RFC 7518).
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

ISSUER = "https://accounts.google.com"
SHORTEST_KEY = 2048
"""Minimum bits of a key (RFC 7518, 3.3)."""
SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""DigestInfo of SHA-256 before the digest (RFC 8017, 9.2)."""

Keys = dict[str, "tuple[int, int]"]
"""Modulus and exponent by key id."""


class Refused(Exception):
    """A token that proves nothing; the message has the reason."""


def keys(document: bytes) -> Keys:
    """Return the RSA keys of a JSON Web Key Set. Raise ValueError, LookupError or TypeError if it is none."""
    listed = [key for key in json.loads(document)["keys"] if key.get("kty") == "RSA"]
    return {key["kid"]: (_number(key["n"]), _number(key["e"])) for key in listed}


def key_id(token: str) -> str:
    """Return the id of the key that the token names. Raise Refused if it is no token with RS256."""
    header = _part(token, 0)
    if header.get("alg") != "RS256" or not isinstance(header.get("kid"), str):
        raise Refused("it is not signed with RS256")
    return header["kid"]


def check(token: str, known: Keys, audience: str, instance: str, project: str) -> None:
    """Raise Refused unless the machine `instance` of the project got this token for this audience.

    The token's end is not judged: the audience has the number that the machine announces, which does not change.
    """
    name = key_id(token)
    if name not in known:
        raise Refused("no published key has signed it")
    signed, _, signature = token.rpartition(".")
    if not _is_signature(_bytes(signature), signed.encode(), *known[name]):
        raise Refused("its signature is wrong")
    claims = _part(token, 1)
    google = claims.get("google")
    machine = google.get("compute_engine") if isinstance(google, dict) else None
    wanted = {"iss": ISSUER, "aud": audience, "instance_id": instance, "project_id": project}
    said = {**(machine if isinstance(machine, dict) else {}), "iss": claims.get("iss"), "aud": claims.get("aud")}
    if wrong := [claim for claim, value in wanted.items() if said.get(claim) != value]:
        raise Refused(f"its claim {wrong[0]} has another value")


def _is_signature(signature: bytes, message: bytes, modulus: int, exponent: int) -> bool:
    """Return whether this is the RSASSA-PKCS1-v1_5 signature of the message (RFC 8017, 8.2.2)."""
    length = (modulus.bit_length() + 7) // 8
    if modulus.bit_length() < SHORTEST_KEY or len(signature) != length:
        return False
    digest = SHA256 + hashlib.sha256(message).digest()
    expected = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
    return pow(int.from_bytes(signature, "big"), exponent, modulus).to_bytes(length, "big") == expected


def _part(token: str, index: int) -> dict[str, Any]:
    """Return one JSON part of the token."""
    parts = token.split(".")
    try:
        said = json.loads(_bytes(parts[index])) if len(parts) == 3 else None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Refused("it is not an identity token")
    return said


def _bytes(text: str) -> bytes:
    """Return the bytes of base64url without padding; empty if it is none."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text), "big")
