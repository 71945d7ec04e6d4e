"""Digests of container images, from a registry's API (OCI distribution specification 1.1, "Pulling manifests").

Credentials come from Docker's configuration and are sent to their own registry, and to the token server that it names,
over https only; they are never printed. A host to which a registry redirects names no token server.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from operations.downloads import fetch

TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
"""Media types of image indexes and manifests that containerd accepts
(core/remotes/docker/resolver.go)."""
HOSTS = {"docker.io": "registry-1.docker.io"}
"""Hosts of registries whose name differs from the one in image names."""
_DOCKER_KEYS = {"docker.io": ("https://index.docker.io/v1/", "index.docker.io", "docker.io")}
"""Names under which Docker's configuration has the credentials of a registry, where they differ."""
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class NoDigest(Exception):
    """Raised for an image without a digest; the message gives the reason, without credentials."""


@dataclass(frozen=True)
class Image:
    """The name of an image: registry/path:tag."""

    registry: str
    path: str
    tag: str

    @classmethod
    def of(cls, name: str) -> "Image":
        """Return the parts of a complete name."""
        registry, _, rest = name.partition("/")
        path, _, tag = rest.rpartition(":")
        return cls(registry, path, tag)


def digest(name: str, systems: Iterable[str], mirrors: Iterable[str] = ()) -> tuple[str, str]:
    """Return an image's digest (sha256:<hex> of the answer's bytes) and the URL that gave it.

    systems: operating systems that the image must have for amd64. mirrors: URLs that are asked first, in order. Raises
    NoDigest if no server answers, or if the image lacks a system.
    """
    image, said = Image.of(name), list[str]()
    own = f"https://{HOSTS.get(image.registry, image.registry)}"
    for server in (*mirrors, own):
        query = "" if server == own else f"?{urlencode({'ns': image.registry})}"
        base = server.rstrip("/").removesuffix("/v2")  # containerd too adds /v2 only if it is missing (docs/hosts.md)
        url = f"{base}/v2/{image.path}/manifests/{image.tag}{query}"
        if fetch.forgeable(url):
            said.append(f"{url} is plain http, so its answer can be forged")
            continue
        try:
            content = _manifest(url, image, trusted=server == own)
        except fetch.Unreachable as error:
            said.append(str(error))
            continue
        lacking = sorted(set(systems) - _systems(content, set(systems)))
        if lacking:
            raise NoDigest(f"{url} has no image for {' and '.join(lacking)} on amd64")
        return f"sha256:{hashlib.sha256(content).hexdigest()}", url
    raise NoDigest("; ".join(said))


def _manifest(url: str, image: Image, *, trusted: bool) -> bytes:
    """Return the manifest's bytes, with a token if the server asks for one. Raises Unreachable."""
    accept = ", ".join(TYPES)
    basic = _credentials(image.registry if trusted else urlsplit(url).netloc)
    try:
        return fetch.text(url, accept)
    except fetch.Unreachable as refusal:
        challenge = refusal.challenge
        if refusal.status != 401:
            raise
    scheme, _, rest = challenge.partition(" ")
    signed_in = {"Authorization": f"Basic {basic}"} if basic else {}
    if scheme.lower() == "basic" and basic:
        return fetch.text(url, accept, headers=signed_in)
    parts = dict(_CHALLENGE.findall(rest))
    realm = parts.get("realm", "")
    if scheme.lower() != "bearer" or not may_get_password(realm, url):
        raise fetch.Unreachable(f"{url}: it asks for credentials; run docker login {urlsplit(url).netloc}", 401)
    query = {"service": parts.get("service", ""), "scope": f"repository:{image.path}:pull"}
    place = f"{realm}{'&' if '?' in realm else '?'}{urlencode({key: value for key, value in query.items() if value})}"
    answer = fetch.text(place, headers=signed_in)
    return fetch.text(url, accept, headers={"Authorization": f"Bearer {_token(answer, realm)}"})


def may_get_password(realm: str, url: str) -> bool:
    """Return whether a token server may get the password for a registry's URL: over https, or both on loopback."""
    both_here = urlsplit(url).hostname in fetch.LOOPBACK and not fetch.forgeable(realm)
    return realm.startswith("https://") or (realm.startswith("http://") and both_here)


def _token(answer: bytes, realm: str) -> str:
    try:
        said: Any = json.loads(answer)
        token = said.get("token") or said.get("access_token")
    except (ValueError, RecursionError, AttributeError):
        token = None
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise fetch.Unreachable(f"{realm} gave no token", 401)
    return token


def _systems(content: bytes, wanted: set[str]) -> set[str]:
    """Return the systems for amd64 in a list of manifests. A single manifest names none, so all wanted count."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise NoDigest("the registry gave no JSON") from None
    if not isinstance(document, Mapping):
        raise NoDigest("the registry gave no manifest")
    if document.get("mediaType") not in TYPES and document.get("schemaVersion") != 2:
        raise NoDigest("the registry gave no manifest of schema 2")
    listed = document.get("manifests")
    if listed is None:
        return wanted if "config" in document else set()
    platforms = (each.get("platform") or {} for each in listed if isinstance(each, Mapping))
    return {each.get("os", "") for each in platforms if each.get("architecture") == "amd64"}


def _credentials(registry: str) -> str:
    """Return the base64 text `user:password` for a registry from Docker's configuration; empty without one.

    Credential helpers are not run.
    """
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        auths: Any = json.loads((folder / "config.json").read_text("utf-8")).get("auths", {})
        keys = _DOCKER_KEYS.get(registry, (registry, f"https://{registry}"))
        text = next((auths[key] for key in keys if key in auths), {}).get("auth", "")
        base64.b64decode(text, validate=True)
    except (OSError, ValueError, AttributeError, TypeError):
        return ""
    return text
