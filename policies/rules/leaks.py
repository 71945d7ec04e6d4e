"""Secrets where others can read them: user-data, objects of the bundle store, tags."""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Any

from policies.rules.rule import AZURE_MACHINE, GCP_INSTANCE, INSTANCE, OBJECTS, Content, Resource, ResourceRule, at

PATTERNS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    # kubeadm: [a-z0-9]{6}\.[a-z0-9]{16}; one without any digit is a name of code, and one random token in a thousand
    "a bootstrap token": re.compile(r"(?<![\w.-])(?=[a-z0-9.]*\d)[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "an AWS secret key": re.compile(r"aws_?secret_?access_?key\W{1,4}[\w/+]{40}", re.IGNORECASE),
    "a Google API key": re.compile(r"\bAIza[\w-]{35}"),
    "a Google access token": re.compile(r"\bya29\.[\w-]{20,}"),
    "a token of a service": re.compile(
        r"(?<!\w)(?:gh[opsru]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|dckr_pat_[\w-]{20,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|pul-[0-9a-f]{40})"
    ),
    "an Azure storage key": re.compile(r"AccountKey=[\w+/]{86}=="),
    "a JSON web token": re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    "a signed URL": re.compile(r"[?&](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|sig)=", re.IGNORECASE),
    "a password in a URL": re.compile(r"://[\w.~%-]*:[\w.~%!*+=-]{4,}@[\w\[]"),
    "an Authorization header": re.compile(r"authorization\W{1,4}(?:bearer|basic)\s+[\w.~+/=-]{12,}", re.IGNORECASE),
    "a kubeconfig's key": re.compile(r"client-key-data\W{1,4}[\w/+]{16}"),
    "a kubeadm certificate key": re.compile(r"certificate-?key\W{1,4}[0-9a-f]{64}\b", re.IGNORECASE),
}
"""Form of each kind of secret. Machines redact by a wider table, cloud-init/redaction.json: a rule that stops `up` must
not take scripts for secrets. tests/policies/test_leaks_and_redaction.py compares both.
"""

_ENCODED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_DEEPEST = 3
"""Most encodings inside each other that the rule decodes: cloud-init's gz+b64 inside base64."""
_LONGEST = 1 << 20
"""Most bytes that the rule decompresses: user-data is far smaller, an archive bomb is not."""

PLACES = {
    **dict.fromkeys((INSTANCE, "aws:ec2/launchTemplate:LaunchTemplate"), ("userData", "userDataBase64", "tags")),
    GCP_INSTANCE: ("metadata", "metadataStartupScript", "labels"),
    AZURE_MACHINE: ("osProfile.customData", "userData", "tags"),
    **dict.fromkeys(OBJECTS, ("content", "contentBase64", "source", "metadata", "tags")),
}
"""Inputs that others can read, by type: texts, files, or tables of texts."""
USER_DATA = frozenset(PLACES) - OBJECTS.keys()


def secrets(text: str, depth: int = 0) -> set[str]:
    """Return the kinds of secrets in a text, also in its base64 parts, compressed or not."""
    found = {what for what, pattern in PATTERNS.items() if pattern.search(text)}
    if depth < _DEEPEST:
        for part in _ENCODED.finditer(text):
            inner = _decoded(part[0])
            if inner is not None:
                found |= secrets(inner, depth + 1)
    return found


def _decoded(part: str) -> str | None:
    """Return decoded base64, decompressed if it is gzip; None if the part is not base64."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), validate=True)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(31).decompress(data, _LONGEST)
    except (binascii.Error, zlib.error, ValueError):
        return None
    return data.decode("latin-1")


def _places(resource: Resource) -> Iterator[tuple[str, Any]]:
    for path in PLACES[resource.type]:
        value = at(resource.properties, path)
        yield from (
            ((f"{path}.{key}", each) for key, each in value.items()) if isinstance(value, dict) else [(path, value)]
        )


def _leaks(resource: Resource) -> Iterator[str]:
    for place, value in _places(resource):
        text = value.data.decode("latin-1") if isinstance(value, Content) and value.data else value
        for what in sorted(secrets(text)) if isinstance(text, str) else ():
            yield f"{place} holds {what}; put it in the secret store, where the machine reads it with its identity"


RULES = (
    ResourceRule("no-secret-in-user-data", "User-data and tags of machines contain no secret.", USER_DATA, _leaks),
    ResourceRule(
        "no-secret-in-objects", "Objects that machines download contain no secret.", frozenset(OBJECTS), _leaks
    ),
)
