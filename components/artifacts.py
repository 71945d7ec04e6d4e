"""Every download: URL, digest, version and operating system, from `artifacts.json` beside this file.

A digest is there only where it was read in the source the entry names; no entry, no download.
"""

import difflib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


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
    """sha256:<hex> or sha512:<hex>, as the publisher gives it."""
    source: str
    """Where the digest was read."""
    size: int | None = None
    """Bytes, where known."""

    @property
    def file_name(self) -> str:
        """Last part of the URL."""
        return self.url.rpartition("/")[2]


def find(name: str, version: str, os: str) -> Artifact:
    """The artefact. UnknownArtifact names the nearest that exist."""
    found = _entries().get((name, version, os))
    if found is None:
        raise UnknownArtifact(f"artifacts.json has no {name} {version} for {os}; {_nearest(name, version, os)}")
    return found


def versions(name: str, os: str | None = None) -> tuple[str, ...]:
    """Versions that have a digest for the operating system, or for all the artefact exists for; oldest first."""
    systems: dict[str, set[str]] = {}
    for each_name, version, system in _entries():
        if each_name == name:
            systems.setdefault(version, set()).add(system)
    wanted = {os} if os else set[str]().union(*systems.values())
    return tuple(version for version, has in systems.items() if wanted <= has)


def _nearest(name: str, version: str, os: str) -> str:
    known = versions(name, os)
    if not known:
        return "known names are " + ", ".join(sorted({each for each, _, system in _entries() if system == os}))
    return "nearest are " + ", ".join(difflib.get_close_matches(version, known, n=3, cutoff=0))


@lru_cache(maxsize=1)
def _entries() -> dict[tuple[str, str, str], Artifact]:
    text = Path(__file__).with_name("artifacts.json").read_text(encoding="ascii")
    return {(each["name"], each["version"], each["os"]): _artifact(each) for each in json.loads(text)}


def _artifact(entry: dict[str, str | int]) -> Artifact:
    algorithm = "sha256" if "sha256" in entry else "sha512"
    fields = {key: value for key, value in entry.items() if key != algorithm}
    return Artifact(digest=f"{algorithm}:{entry[algorithm]}", **fields)  # type: ignore[arg-type]
