"""Digests of container images, from a registry's API (OCI distribution specification 1.1, "Pulling manifests").

Credentials come from Docker's configuration. They are sent over https only, to their own registry and the token server
that it names, and never printed. Token servers that another host names after a redirect are ignored.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
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
    """The image's digest cannot be determined; the message gives the reason, without credentials."""


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


class Found(NamedTuple):
    """A digest, the URL that gave it, and whether the registry itself gave it, not only a mirror."""

    digest: str
    url: str
    confirmed: bool


def digest(name: str, systems: Iterable[str], mirrors: Iterable[str] = ()) -> Found:
    """Return an image's digest: sha256:<hex> of the answer's bytes.

    systems: operating systems that the image must have for amd64. mirrors: URLs that are asked in order until one
    answers. The registry is always asked too: who writes to a mirror must not choose what is pinned. Raises NoDigest if
    no server answers, if the image lacks a system, or if mirror and registry give different digests.
    """
    image, wanted, said = Image.of(name), frozenset(systems), list[str]()
    mirrored = None
    for base in mirrors:
        try:
            mirrored = _Server(base, image, own=False).found(wanted)
            break
        except (fetch.Unreachable, NoDigest) as error:
            said.append(str(error))
    try:
        itself = _Server(f"https://{HOSTS.get(image.registry, image.registry)}", image, own=True).found(wanted)
    except fetch.Unreachable as error:
        said.append(str(error))
        if mirrored is None:
            raise NoDigest("; ".join(said)) from None
        return mirrored
    if mirrored and mirrored.digest != itself.digest:
        raise NoDigest(
            f"{mirrored.url} gives {mirrored.digest}, but {itself.url} gives {itself.digest}; "
            "correct the mirror, or remove it from containerd.mirrors"
        )
    return itself


class _Server:
    """A registry or a mirror, asked about one image; it stays signed in."""

    def __init__(self, base: str, image: Image, *, own: bool) -> None:
        """own: whether it is the registry in the image's name."""
        # containerd too adds /v2 only if it is missing (docs/hosts.md)
        self._base, self._image, self._own = base.rstrip("/").removesuffix("/v2"), image, own
        self._signed_in: dict[str, str] = {}

    def found(self, wanted: frozenset[str]) -> Found:
        """Return the digest of the image's manifest. Raises Unreachable, or NoDigest if it lacks a wanted system."""
        url, content = self._url("manifests", self._image.tag), self._get("manifests", self._image.tag)
        try:
            lacking = sorted(wanted - self._systems(content, wanted))
        except NoDigest as error:
            raise NoDigest(f"{url} gave {error}") from None
        if lacking:
            raise NoDigest(f"{url} has no image for {' and '.join(lacking)} on amd64")
        return Found(_sha256(content), url, self._own)

    def _url(self, kind: str, reference: str) -> str:
        query = "" if self._own else f"?{urlencode({'ns': self._image.registry})}"
        return f"{self._base}/v2/{self._image.path}/{kind}/{reference}{query}"

    def _get(self, kind: str, reference: str) -> bytes:
        """Return a manifest or a blob, with a token if the server asks for one. Raises Unreachable."""
        url, accept = self._url(kind, reference), ", ".join(TYPES) if kind == "manifests" else "*/*"
        if fetch.forgeable(url):
            raise fetch.Unreachable(f"{url} is plain http, so its answer can be forged", 0)
        try:
            return fetch.text(url, accept, headers=self._signed_in)
        except fetch.Unreachable as refusal:
            if refusal.status != 401 or self._signed_in:
                raise
            self._signed_in = self._sign_in(url, refusal.challenge)
        return fetch.text(url, accept, headers=self._signed_in)

    def _sign_in(self, url: str, challenge: str) -> dict[str, str]:
        """Return the header that answers a challenge. Raises Unreachable if there is none."""
        basic = _credentials(self._image.registry if self._own else urlsplit(url).netloc)
        scheme, _, rest = challenge.partition(" ")
        signed_in = {"Authorization": f"Basic {basic}"} if basic else {}
        if scheme.lower() == "basic" and basic:
            return signed_in
        parts = dict(_CHALLENGE.findall(rest))
        realm = parts.get("realm", "")
        if scheme.lower() != "bearer" or not may_get_password(realm, url):
            raise fetch.Unreachable(f"{url}: it asks for credentials; run docker login {urlsplit(url).netloc}", 401)
        query = {"service": parts.get("service", ""), "scope": f"repository:{self._image.path}:pull"}
        asked = urlencode({key: value for key, value in query.items() if value})
        answer = fetch.text(f"{realm}{'&' if '?' in realm else '?'}{asked}", headers=signed_in)
        return {"Authorization": f"Bearer {_token(answer, realm)}"}

    def _systems(self, content: bytes, wanted: frozenset[str]) -> set[str]:
        """Return the systems for amd64 in a list of manifests, or in the configuration of a single manifest.

        Raises NoDigest with what the server gave instead, Unreachable.
        """
        document = _mapping(content)
        if document.get("mediaType") not in TYPES and document.get("schemaVersion") != 2:
            raise NoDigest("no manifest of schema 2")
        if (listed := document.get("manifests")) is not None:
            if not isinstance(listed, list):
                raise NoDigest("no list of manifests")
            return _on_amd64(each.get("platform") for each in listed if isinstance(each, Mapping))
        if len(wanted) > 1:
            raise NoDigest(f"a single manifest, not one for each of {' and '.join(sorted(wanted))}")
        config = document.get("config")
        blob = config.get("digest") if isinstance(config, Mapping) else None
        if not isinstance(blob, str) or not re.fullmatch("sha256:[0-9a-f]{64}", blob):
            raise NoDigest("a manifest without the digest of its configuration")
        configuration = self._get("blobs", blob)
        if _sha256(configuration) != blob:
            raise NoDigest(f"a configuration with the digest {_sha256(configuration)}, not {blob}")
        return _on_amd64([_mapping(configuration)])


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _mapping(content: bytes) -> Mapping[str, Any]:
    """Return a JSON object. Raises NoDigest with what the content is instead."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise NoDigest("no JSON") from None
    if not isinstance(document, Mapping):
        raise NoDigest("no manifest")
    return document


def _on_amd64(platforms: Iterable[Any]) -> set[str]:
    """Return the operating systems of the amd64 platforms; ignore other platforms and values of wrong types."""
    named = (each for each in platforms if isinstance(each, Mapping) and each.get("architecture") == "amd64")
    return {each["os"] for each in named if isinstance(each.get("os"), str)}


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
