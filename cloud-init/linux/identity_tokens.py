"""Tokens that name the machine that got them, verified with the cloud's published keys.

Such a token is a JSON Web Token, signed with RS256 (RFC 7515, RFC 7518).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import Request

import loader

if TYPE_CHECKING:
    from run import Run

GOOGLE = "https://accounts.google.com"
"""Issuer of the identity tokens of Google Cloud's machines."""
LARGEST = 1 << 20
"""Maximum bytes of the published keys."""
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


def keys_url(run: Run, host: str, path: str) -> str:
    """Return where a cloud publishes its keys; the sandbox publishes them where it lists machines."""
    if run.told["facts"].get("world") != "sandbox":
        return f"https://{host}{path}"
    service = urlsplit(run.value("facts.compute_service"))
    return f"{service.scheme}://{service.netloc}{path}"


def read(published: Keys, url: str, token: str, ask: Callable[..., Any] | None = None) -> None:
    """Read the keys that a cloud publishes at the URL again if none of these has the token's key id.

    ask: opens the request; None: directly. Raise Refused if the text is no token with RS256, and OSError if the keys
    cannot be read.
    """
    if key_id(token) in published:
        return
    try:
        with (ask or loader.direct)(Request(url), timeout=30) as answer:
            found = keys(answer.read(LARGEST))
    except (ValueError, LookupError, TypeError, AttributeError, HTTPException) as error:
        raise OSError(f"{url}: {type(error).__name__}: {error}") from None
    published.clear()
    published.update(found)


def of_google(token: str, known: Keys, audience: str, instance: str, project: str) -> None:
    """Raise Refused unless the machine `instance` of the project got this token for this audience.

    A machine asks its metadata server for a token with an audience of its choice. Nobody else gets one with the
    machine's instance id, also no machine with the same service account (Compute Engine, "Verify the identity of
    instances"). The token's end is not judged: the audience has the announced number, which does not change.
    """
    claims = _verified(token, known)
    google = claims.get("google")
    machine = google.get("compute_engine") if isinstance(google, dict) else None
    said = {**(machine if isinstance(machine, dict) else {}), "iss": claims.get("iss"), "aud": claims.get("aud")}
    _compare(said, {"iss": GOOGLE, "aud": audience, "instance_id": instance, "project_id": project})


def of_azure(token: str, known: Keys, audience: str, tenant: str, principal: str) -> None:
    """Raise Refused unless the identity `principal` of the tenant got this token for this audience.

    Claims of version 1.0 ("Access token claims reference" of the Microsoft identity platform). The slash at the end of
    the audience is not compared: the resource of the request may have it or not. The token's end is not judged: a
    system-assigned identity ends with its machine.
    """
    claims = _verified(token, known)
    said = {**claims, "aud": f"{claims.get('aud')}".rstrip("/")}
    issuer = f"https://sts.windows.net/{tenant}/"
    _compare(said, {"iss": issuer, "aud": audience.rstrip("/"), "tid": tenant, "oid": principal})


def claim(token: str, name: str) -> str:
    """Return a claim of a token whose signature is not checked; empty if it has none. Raise Refused if it is none."""
    value = _part(token, 1).get(name)
    return value if isinstance(value, str) else ""


def _verified(token: str, known: Keys) -> dict[str, Any]:
    """Return the claims of a token that one of the keys has signed. Raise Refused if none has."""
    name = key_id(token)
    if name not in known:
        raise Refused("no published key has signed it")
    signed, _, signature = token.rpartition(".")
    if not _is_signature(_bytes(signature), signed.encode(), *known[name]):
        raise Refused("its signature is wrong")
    return _part(token, 1)


def _compare(said: dict[str, Any], wanted: dict[str, str]) -> None:
    """Raise Refused if a claim has another value."""
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
