"""Every download: URL, digest, version and operating system, from `artifacts.json` and the stack's own entries.

A digest is there only where it was read in the source the entry names. An entry whose digest nobody published says
so (`"digest": "unknown"`): it can be planned with, and no cluster is built from it. No entry, no download.
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
"""Digest of what has none."""

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
    """Where the digest was read, or would stand."""
    size: int | None = None
    """Bytes, where known."""

    @property
    def file_name(self) -> str:
        """Last part of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def is_pinned(self) -> bool:
        """Whether its digest is known."""
        return self.digest != UNKNOWN


@dataclass(frozen=True)
class Catalogue:
    """The downloads of one stack: its own entries over the built-in ones, all from its mirror where it has one."""

    own: Mapping[_Key, Artifact]
    mirror: str | None = None

    def find(self, name: str, version: str, os: str) -> Artifact:
        """The artefact. UnknownArtifact names the nearest that exist."""
        key = (name, version, os)
        found = self.own.get(key) or _built_in().get(key)
        if found is None:
            raise UnknownArtifact(
                f"artifacts.json has no {name} {version} for {os}; {self._nearest(name, version, os)}"
            )
        return replace(found, url=mirrored(found.url, self.mirror)) if self.mirror else found

    def versions(self, name: str, os: str | None = None, *, pinned: bool = True) -> tuple[str, ...]:
        """Versions for the operating system, or for all the artefact exists for; the stack's own last.

        Without `pinned` also those whose digest is unknown.
        """
        systems: dict[str, set[str]] = {}
        for (each, version, system), found in {**_built_in(), **self.own}.items():
            if each == name and (found.is_pinned or not pinned):
                systems.setdefault(version, set()).add(system)
        wanted = {os} if os else set[str]().union(*systems.values())
        return tuple(version for version, has in systems.items() if wanted <= has)

    def all(self) -> tuple[Artifact, ...]:
        """Every entry, from where its publisher has it."""
        return tuple({**_built_in(), **self.own}.values())

    def _nearest(self, name: str, version: str, os: str) -> str:
        known = self.versions(name, os)
        if not known:
            return "known names are " + ", ".join(sorted({each for each, _, system in _built_in() if system == os}))
        return "nearest are " + ", ".join(difflib.get_close_matches(version, known, n=3, cutoff=0))


def mirrored(url: str, mirror: str) -> str:
    """The URL as a mirror has it: <mirror>/<host>/<path>. One that lies in the mirror already stays."""
    base = mirror.rstrip("/")
    return url if url.startswith(f"{base}/") else f"{base}/{url.partition('://')[2]}"


def catalogue(artifacts: Artifacts) -> Catalogue:
    """The downloads of a stack that has these artefact options."""
    return Catalogue(_by_key(map(_own, artifacts.entries)), artifacts.mirror)


BUILT_IN = Catalogue({})
"""The downloads of a stack without options."""

find, versions = BUILT_IN.find, BUILT_IN.versions


def artifact(entry: Mapping[str, Any]) -> Artifact:
    """An entry of artifacts.json: name, version, os, url, source, one of sha256, sha512 and digest, maybe size."""
    fields = dict(entry)
    digest = next((f"{each}:{fields.pop(each)}" for each in ("sha256", "sha512") if each in fields), None)
    fields["digest"] = digest or fields["digest"]
    return Artifact(**fields)


def _own(entry: ArtifactEntry) -> Artifact:
    digests = (f"{kind}:{value}" for kind, value in (("sha256", entry.sha256), ("sha512", entry.sha512)) if value)
    digest = next(digests, UNKNOWN)
    return Artifact(entry.name, entry.version, entry.os.value, entry.url, digest, entry.source, entry.size)


def _by_key(found: Iterable[Artifact]) -> dict[_Key, Artifact]:
    return {(each.name, each.version, each.os): each for each in found}


@lru_cache(maxsize=1)
def _built_in() -> dict[_Key, Artifact]:
    text = Path(__file__).with_name("artifacts.json").read_text(encoding="ascii")
    return _by_key(artifact(each) for each in json.loads(text))
