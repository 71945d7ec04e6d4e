"""`mullion pin`: read a publisher's digest, check the download against it, and store both as an entry."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from components.catalogue.artifacts import Artifact
from components.stack_files.artifact_file import DEFAULT
from operations.console.exits import Exit, Stop
from operations.downloads import entry_file, fetch, publishers
from operations.downloads.cache import stored, watched
from operations.downloads.checksums import BadChecksums, checked
from operations.stacks.paths import REPOSITORY

FILE = DEFAULT
"""Default file of entries, in the folder of Pulumi.yaml; --file names another."""
SYSTEMS = ("linux", "windows")
STATES = ("same", "differs", "not published", "unreachable")
AT_ONCE = 8
"""Checksum files that are fetched at the same time."""


@dataclass(frozen=True)
class Wanted:
    """One download, as given on the command line."""

    name: str
    version: str
    os: str | None = None
    url: str | None = None
    checksums: str | None = None
    digest: str | None = None
    first_use: bool = False
    download: bool = True


def pin(wanted: Wanted, file: str | None) -> None:
    """Add an entry for each operating system of a download: all or none, as the file is written once at the end."""
    path = _path(file)
    there = entry_file.read(path)
    added = [_pinned(wanted, each, there) for each in _systems(wanted, there)]
    entry_file.write(path, there, added)
    for entry in added:
        size = f", {entry['size']:,} bytes" if "size" in entry else ", not downloaded"
        print(f"pinned {entry['name']} {entry['version']} for {entry['os']}{size}\n  {_digest(entry)}")
        print(f"  {entry['url']}\n  digest from: {entry['source']}")
    if path.parent == REPOSITORY and path.name == FILE:
        print("\nStacks without artifacts.file take these entries from now on; the next `mullion up` uses them")


def _path(file: str | None) -> Path:
    return Path(file).absolute() if file else REPOSITORY / FILE


def _systems(wanted: Wanted, there: list[entry_file.Entry]) -> tuple[str, ...]:
    known = entry_file.known(there)
    found = [wanted.os] if wanted.os else [each for each in SYSTEMS if known.versions(wanted.name, each, pinned=False)]
    if not found or (wanted.os not in (None, *SYSTEMS)):
        names = sorted({each.name for each in known.all()})
        raise Stop(
            Exit.USAGE,
            f"unknown download {wanted.name!r}; known: {', '.join(names)}. "
            "A new one needs --os linux or --os windows, and --url URL",
        )
    lacking = [each for each in found if wanted.version not in known.versions(wanted.name, each)]
    found = lacking or found  # pin a system again only if every system has a digest
    if len(found) > 1 and (wanted.url or wanted.digest or wanted.checksums):
        raise Stop(Exit.USAGE, f"{wanted.name} is for {' and '.join(found)}; choose one with --os")
    return tuple(found)


def _pinned(wanted: Wanted, os: str, there: list[entry_file.Entry]) -> entry_file.Entry:
    try:
        url = wanted.url or publishers.url_of(entry_file.known(there), wanted.name, wanted.version, os)
        digest, source = _published(wanted, url)
        size: int | None = None
        if wanted.download or digest is None:
            with watched(f"{wanted.name} {wanted.version} for {os}") as heard:
                digest, size = stored(url, digest, heard)
    except publishers.NotPublished as error:
        raise Stop(
            Exit.FAILED,
            f"{wanted.name} {wanted.version} for {os}: {error}. Nothing was pinned. Pass a digest that you trust "
            "(--digest sha256:...), another checksum file (--checksums URL), or trust it as it is now (--first-use)",
        ) from None
    except (BadChecksums, fetch.WrongDigest, fetch.Unreachable, fetch.NoSpace) as error:
        raise Stop(Exit.FAILED, f"{wanted.name} {wanted.version} for {os}: {error}. Nothing was pinned") from None
    return entry_file.entry(wanted.name, wanted.version, os, url, digest, source, size)


def _published(wanted: Wanted, url: str) -> tuple[str | None, str]:
    """Return digest and source. The digest is None with --first-use, which trusts the downloaded file."""
    if wanted.digest:
        try:
            return checked(wanted.digest), "given to mullion pin"
        except ValueError as error:
            raise Stop(Exit.USAGE, f"--digest: {error}") from None
    if wanted.first_use:
        today = datetime.now(timezone.utc).date().isoformat()
        return None, f"what {url} gave on {today}; not compared with anything"
    if "?" in (given := wanted.checksums or "") or "@" in given:
        raise Stop(
            Exit.USAGE, "--checksums: remove the query or user, which may be a secret: the entry records this address"
        )
    found = publishers.published(wanted.name, url, checksums=wanted.checksums)
    return found.digest, found.source


def verify(name: str | None, file: str | None) -> None:
    """Compare entries with what their publishers say now. Raises Stop (FAILED) if any digest differs."""
    known = entry_file.known(entry_file.read(_path(file)))
    chosen = [each for each in known.all() if each.is_pinned and name in (None, each.name)]
    if not chosen:
        raise Stop(
            Exit.USAGE,
            f"there is no entry {name!r} with a digest; known: "
            + ", ".join(sorted({each.name for each in known.all()})),
        )
    counts: dict[str, int] = dict.fromkeys(STATES, 0)
    for artifact, state, why in _compared(chosen):
        counts[state] += 1
        if state != "same":
            print(f"{state:<13}  {artifact.name} {artifact.version} {artifact.os}: {why}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    if counts["differs"]:
        raise Stop(Exit.FAILED, "publishers have other digests than these entries; do not build with those downloads")


def _compared(chosen: list[Artifact]) -> Iterator[tuple[Artifact, str, str]]:
    """Yield (entry, state, reason), in order. A host that failed once is not asked for checksums again."""
    silent: set[str] = set()

    def compare(each: Artifact) -> tuple[Artifact, str, str]:
        hosts: set[str] = set()
        try:
            hosts = {urlsplit(url).netloc for url in publishers.checksum_urls(each.name, each.url)}
            if hosts and hosts <= silent:
                return each, "unreachable", f"not asked, because {', '.join(sorted(hosts))} did not answer before"
            algorithm = each.digest.partition(":")[0]
            found = publishers.published(each.name, each.url, algorithm=algorithm, waits=())
        except publishers.NotPublished as error:
            if error.silent:
                silent.update(hosts)
            return each, "unreachable" if error.silent else "not published", str(error)
        except BadChecksums as error:
            return each, "not published", str(error)
        return each, "same" if found.digest == each.digest else "differs", f"{found.source} says {found.digest}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(compare, chosen)


def _digest(each: dict[str, Any]) -> str:
    return next(f"{algorithm}:{each[algorithm]}" for algorithm in ("sha256", "sha512") if algorithm in each)
