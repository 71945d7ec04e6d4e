"""Archives, unpacked file by file after every entry was checked."""

import json
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import IO, Any

from failure import Failure
from run import STATE, Run, Step
from writing import whole, write_whole

from kinds.artifacts import BLOCK, digest_of

BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, RuntimeError, NotImplementedError)
"""Exceptions of tarfile and zipfile; the last two are raised for encrypted entries and unknown compression."""
DRIVE = re.compile(r"[A-Za-z]:")
Entry = tuple[str, int, IO[bytes] | None]
"""Name, mode and content; the content is None while entries are only checked."""


def key_of(run: Run, step: Step) -> list[Any]:
    """Return the digest of the archive and the step's options, which the listing must match."""
    source = run.path(step["source"])
    if not source.is_file():
        raise Failure("file-failed", f"{step['source']} is not there")
    return [digest_of(run, source, "sha256:"), step["target"], step.get("strip", 0), step.get("members")]


def listing(run: Run, step: Step) -> Path:
    """Return the path of the listing: names and sizes of the files last unpacked."""
    return run.path(f"{STATE}/archives/{step['name'].replace('/', '%2F')}.json")


def archive_holds(run: Run, step: Step) -> bool:
    """Return whether the listing matches the archive and each file has its size."""
    place, target = listing(run, step), run.path(step["target"])
    if not place.is_file():
        return False
    known = json.loads(place.read_text())
    files = [(target / name, size) for name, size in known["files"].items()]
    return known["key"] == key_of(run, step) and all(p.is_file() and p.stat().st_size == size for p, size in files)


def make_archive(run: Run, step: Step) -> None:
    """Check all entries, write each file atomically, then the listing: after a power loss in between there is none."""
    key, source, target = key_of(run, step), run.path(step["source"]), run.path(step["target"])
    try:
        wanted = chosen(step, [name for name, _, _ in entries(source, read=False)])
        files = {}
        for name, bits, content in entries(source, read=True):
            run.in_time()
            if name in wanted and content is not None:
                with whole(target / wanted[name], 0o755 if bits & 0o100 else 0o644) as file:
                    copyfileobj(content, file, BLOCK)
                    files[wanted[name]] = file.tell()
    except BROKEN as error:
        raise Failure("archive-broken", f"{step['source']}: {type(error).__name__}: {error}") from None
    text = json.dumps({"key": key, "files": files}).encode()
    write_whole(listing(run, step), text, 0o644)


def chosen(step: Step, names: list[str]) -> dict[str, str]:
    """Return paths below the target by entry name; members may be given by entry name or by target path."""
    inner = {name: "/".join(PurePosixPath(name).parts[step.get("strip", 0) :]) for name in names}
    members = set(step.get("members") or ())
    found = {name: each for name, each in inner.items() if each and (not members or {name, each} & members)}
    missing = members - found.keys() - set(found.values())
    if missing or not found:
        raise Failure("archive-broken", f"{step['source']} has no {sorted(missing) or 'files'}")
    return found


def judge(source: Path, name: str, ordinary: bool) -> None:
    """Raise Failure archive-unsafe for an entry that is neither file nor folder, or whose name leaves the target."""
    if not ordinary:
        raise Failure("archive-unsafe", f"{source.name}: {name!r} is neither file nor folder")
    if name.startswith("/") or "\\" in name or ".." in name.split("/") or DRIVE.match(name) or "\0" in name:
        raise Failure("archive-unsafe", f"{source.name}: {name!r} leaves the target")


def entries(source: Path, read: bool) -> Iterator[Entry]:
    """Yield each file of a tar, tar.gz or zip archive. Raise Failure for entries other than files and folders."""
    with source.open("rb") as file:
        start = file.read(2)
    yield from _zipped(source, read) if start == b"PK" else _tarred(source, read, gzip=start == b"\x1f\x8b")


def _zipped(source: Path, read: bool) -> Iterator[Entry]:
    with zipfile.ZipFile(source) as archive:
        for entry in archive.infolist():
            bits = entry.external_attr >> 16
            judge(source, entry.filename, stat.S_IFMT(bits) in (0, stat.S_IFREG, stat.S_IFDIR))
            if not entry.is_dir() and read:
                with archive.open(entry) as content:
                    yield entry.filename, bits, content
            elif not entry.is_dir():
                yield entry.filename, bits, None


def _tarred(source: Path, read: bool, gzip: bool) -> Iterator[Entry]:
    with tarfile.open(source, "r:gz" if gzip else "r:") as archive:
        for entry in archive:
            judge(source, entry.name, entry.isfile() or entry.isdir())
            if entry.isfile():
                yield entry.name, entry.mode, archive.extractfile(entry) if read else None
