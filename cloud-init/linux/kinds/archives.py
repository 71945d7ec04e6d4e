"""Archives: unpacked file by file, after every entry was judged."""

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
"""What the readers raise; the last two: encrypted entries, unknown compression."""
DRIVE = re.compile(r"[A-Za-z]:")
Entry = tuple[str, int, IO[bytes] | None]
"""Name, mode, and what it reads as; None while entries are only judged."""


def key_of(run: Run, step: Step) -> list[Any]:
    """What makes an unpacked archive the wanted one: its own digest, and how it is unpacked."""
    source = run.path(step["source"])
    if not source.is_file():
        raise Failure("file-failed", f"{step['source']} is not there")
    return [digest_of(run, source, "sha256:"), step["target"], step.get("strip", 0), step.get("members")]


def listing(run: Run, step: Step) -> Path:
    """Where the names and sizes of the last unpacking are."""
    return run.path(f"{STATE}/archives/{step['name'].replace('/', '%2F')}.json")


def archive_holds(run: Run, step: Step) -> bool:
    """The listing of the last unpacking fits the archive, and each file has its size."""
    place, target = listing(run, step), run.path(step["target"])
    if not place.is_file():
        return False
    known = json.loads(place.read_text())
    files = [(target / name, size) for name, size in known["files"].items()]
    return known["key"] == key_of(run, step) and all(p.is_file() and p.stat().st_size == size for p, size in files)


def make_archive(run: Run, step: Step) -> None:
    """Judges all names, then writes each file whole, then the listing: a cut in between leaves no listing."""
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
    """Names of the files to write -> where below the target; members are named as in the archive or as they end up."""
    inner = {name: "/".join(PurePosixPath(name).parts[step.get("strip", 0) :]) for name in names}
    members = set(step.get("members") or ())
    found = {name: each for name, each in inner.items() if each and (not members or {name, each} & members)}
    missing = members - found.keys() - set(found.values())
    if missing or not found:
        raise Failure("archive-broken", f"{step['source']} has no {sorted(missing) or 'files'}")
    return found


def judge(source: Path, name: str, ordinary: bool) -> None:
    """Refuses what is neither file nor folder, and names that leave the target on this system or on another."""
    if not ordinary:
        raise Failure("archive-unsafe", f"{source.name}: {name!r} is neither file nor folder")
    if name.startswith("/") or "\\" in name or ".." in name.split("/") or DRIVE.match(name) or "\0" in name:
        raise Failure("archive-unsafe", f"{source.name}: {name!r} leaves the target")


def entries(source: Path, read: bool) -> Iterator[Entry]:
    """Yields each file of a tar (also gzip) or zip archive; anything but files and folders is refused."""
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
