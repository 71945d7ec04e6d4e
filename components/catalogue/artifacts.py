"""Downloads: URL, digest, version and operating system, from `artifacts.json` and the stack's own entries.

A digest was read in the source that its entry names. An entry without a published digest has `"digest": "unknown"`:
`plan` accepts it, `up` refuses it. Machines download nothing that has no entry.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from components.spec.options import ArtifactEntry, Artifacts

UNKNOWN = "unknown"
"""Digest of a download without a published one."""

_Key = tuple[str, str, str]
"""Name, version, operating system."""


class UnknownArtifact(LookupError):
    """No entry has this name, version and operating system."""


@dataclass(frozen=True)
class Artifact:
    """One file that machines download."""

    name: str
    version: str
    os: str
    """linux or windows; always amd64."""
    url: str
    digest: str
    """sha256:<hex> or sha512:<hex>, as the publisher gives it; or unknown."""
    source: str
    """Where the digest was read, or would be published."""
    size: int | None = None
    """Bytes, where known."""
    fallbacks: tuple[str, ...] = ()
    """Other URLs of the same file, asked in order."""

    @property
    def file_name(self) -> str:
        """The last part of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def is_pinned(self) -> bool:
        """Whether its digest is known."""
        return self.digest != UNKNOWN


@dataclass(frozen=True)
class Catalogue:
    """Downloads of one stack: the built-in entries, replaced or extended by its own, and its mirror."""

    own: Mapping[_Key, Artifact]
    mirror: str | None = None

    def find(self, name: str, version: str, os: str) -> Artifact:
        """Return a download. Raises UnknownArtifact, with the nearest versions, if there is no entry."""
        key = (name, version, os)
        entry = self.own.get(key) or _built_in().get(key)
        if entry is None:
            raise UnknownArtifact(
                f"artifacts.json has no {name} {version} for {os}; {self._nearest(name, version, os)}"
            )
        # a mirror has a copy of each file; machines behind one often reach nothing else
        return replace(entry, url=mirrored(entry.url, self.mirror), fallbacks=()) if self.mirror else entry

    def versions(self, name: str, os: str | None = None, *, pinned: bool = True) -> tuple[str, ...]:
        """Return versions of a download for an operating system, the stack's own last.

        os: None for versions that exist for each of the download's operating systems.
        pinned: False to include versions with an unknown digest.
        """
        systems: dict[str, set[str]] = {}
        for (download, version, system), entry in {**_built_in(), **self.own}.items():
            if download == name and (entry.is_pinned or not pinned):
                systems.setdefault(version, set()).add(system)
        wanted = {os} if os else set[str]().union(*systems.values())
        return tuple(version for version, has in systems.items() if wanted <= has)

    def all(self) -> tuple[Artifact, ...]:
        """Return every entry, with its publisher's URL."""
        return tuple({**_built_in(), **self.own}.values())

    def _nearest(self, name: str, version: str, os: str) -> str:
        nearby = self.versions(name, os)
        if not nearby:
            return "known names are " + ", ".join(sorted({each for each, _, system in _built_in() if system == os}))
        return "nearest are " + ", ".join(difflib.get_close_matches(version, nearby, n=3, cutoff=0))


def mirrored(url: str, mirror: str) -> str:
    """Return the URL in a mirror: <mirror>/<host>/<path>. A URL of the mirror stays as it is."""
    base = mirror.rstrip("/")
    return url if url.startswith(f"{base}/") else f"{base}/{url.partition('://')[2]}"


def catalogue(artifacts: Artifacts) -> Catalogue:
    """Return the downloads of a stack with these artefact options."""
    return Catalogue(_by_key(map(_own, artifacts.entries)), artifacts.mirror)


BUILT_IN = Catalogue({})
"""Downloads of a stack without artefact options."""

find, versions = BUILT_IN.find, BUILT_IN.versions


def artifact(entry: Mapping[str, Any]) -> Artifact:
    """Return an entry of artifacts.json: name, version, os, url, source, one of sha256, sha512 and digest,
    optionally size and fallbacks.
    """
    fields = dict(entry)
    digest = next((f"{each}:{fields.pop(each)}" for each in ("sha256", "sha512") if each in fields), None)
    fields["digest"] = digest or fields["digest"]
    fields["fallbacks"] = tuple(fields.get("fallbacks", ()))
    return Artifact(**fields)


def _own(entry: ArtifactEntry) -> Artifact:
    digests = (f"{kind}:{value}" for kind, value in (("sha256", entry.sha256), ("sha512", entry.sha512)) if value)
    digest = next(digests, UNKNOWN)
    return Artifact(
        entry.name, entry.version, entry.os.value, entry.url, digest, entry.source, entry.size, tuple(entry.fallbacks)
    )


def _by_key(entries: Iterable[Artifact]) -> dict[_Key, Artifact]:
    return {(entry.name, entry.version, entry.os): entry for entry in entries}


@lru_cache(maxsize=1)
def _built_in() -> dict[_Key, Artifact]:
    text = Path(__file__).with_name("artifacts.json").read_text(encoding="ascii")
    return _by_key(artifact(each) for each in json.loads(text))
