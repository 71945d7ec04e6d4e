"""What registries of all clouds have of the OCI Distribution API: challenges, names of repositories, empty registries.

Sources: OCI Distribution Specification 1.1 (paths, error codes); CNCF Distribution, "Token Authentication
Specification" (WWW-Authenticate).
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable
from typing import Any

from sandbox.services.calls import Answer, Call, Codes, Refused, worded

JSON = {"content-type": "application/json", "docker-distribution-api-version": "registry/2.0"}
CODES: Codes = {
    "denied": (403, "DENIED"),
    "throttled": (429, "TOOMANYREQUESTS"),
    "failed": (500, "UNKNOWN"),
}
_PULL = re.compile(r"repository:(?P<repository>[a-z0-9._/-]+):pull")
_PATH = re.compile(r"/v2/(?:(?P<repository>[a-z0-9._/-]+)/(?:manifests|blobs)/[^/]+)?")


class Challenged(Refused):
    """The refusal of a call without a valid access token: it names the server of tokens.

    repository: the one asked for, or empty.
    """

    def __init__(self, realm: str, service: str, repository: str) -> None:
        super().__init__("UNAUTHORIZED", "authentication required", 401)
        scope = f',scope="repository:{repository}:pull"' if repository else ""
        self.header = f'Bearer realm="{realm}",service="{service}"{scope}'


def repository(call: Call) -> str:
    """Return the repository of a read; empty for /v2/ itself. Raises Refused for any other call."""
    found = _PATH.fullmatch(call.path)
    if not found or call.method not in ("GET", "HEAD"):
        raise Refused("UNSUPPORTED", f"the sandbox does not support {call.method} {call.path}", 405)
    return found["repository"] or ""


def pulled(scopes: Iterable[str]) -> list[str]:
    """Return the repositories of those scopes that ask to pull and nothing else."""
    return [found["repository"] for found in map(_PULL.fullmatch, scopes) if found]


def basic(call: Call) -> tuple[str, str]:
    """Return user and password of basic authentication; both empty without it."""
    scheme, _, text = call.headers.get("authorization", "").partition(" ")
    try:
        user, _, password = (
            base64.b64decode(text, validate=True).decode().partition(":") if scheme == "Basic" else 3 * ("",)
        )
    except (binascii.Error, ValueError):
        return "", ""
    return user, password


def empty(repository: str) -> Answer:
    """Answer an allowed read of a registry without images. Raises Refused for an image."""
    if repository:
        raise Refused("MANIFEST_UNKNOWN", "manifest unknown", 404)
    return document({})


def document(value: Any) -> Answer:
    """Return a JSON document as an answer."""
    return Answer(200, json.dumps(value).encode(), JSON)


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in the registry's format, and its code."""
    status, code = worded(refused, CODES)
    headers = JSON | ({"www-authenticate": refused.header} if isinstance(refused, Challenged) else {})
    body = {"errors": [{"code": code, "message": refused.message, "detail": None}]}
    return Answer(status, json.dumps(body).encode(), headers), code
