"""Copies this machine's audit log to the snapshot store, in pieces; the active agent deletes old pieces.

audit/20261127/132507.0-control-plane-0-i-0123456789abcdef0-1f2e3d4c-0.log.gz

Parts of the name: day and time of the upload, number of the piece in this round, machine, instance, first digits of the
digest of the file's first line, position of the piece in the file.

The API server renames a full audit.log and deletes the oldest files, so the agent recognises the file that it copies by
the digest of its first line, and remembers the position in it. After a crash it may store a piece a second time.
"""

import gzip
import hashlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import objects
from failure import Failure
from report import say
from run import STATE, Run
from writing import write_whole

from agent.configuration import Configuration
from agent.snapshots import store

PREFIX = "audit/"
KEY = re.compile(rf"{PREFIX}(\d{{8}})/[\w.-]+\.log\.gz")
CURRENT = "audit.log"
REMEMBERED = f"{STATE}/audit.json"
PIECE = 32 << 20
"""Maximum bytes of a piece before compression."""
PIECES = 4
"""Maximum pieces in a round, so that other concerns have their turn."""
LEAST, SECONDS = 1 << 20, 300
"""Bytes that a piece of the growing file must have, unless so many seconds have passed since the last piece."""
LINE = 1 << 20
"""Maximum bytes of a file's first line."""
DAY = 86400


class Place(NamedTuple):
    """What was copied last."""

    begins: str = ""
    """SHA-256 of the first line of the file; empty before the first piece."""
    offset: int = 0
    at: float = 0.0
    """Seconds since 1970."""
    lost: int = 0
    """How often the API server deleted a file that was not copied whole."""


def reconcile(run: Run, config: Configuration, now: float) -> dict[str, object]:
    """Copy what is due; return values for the status record. Raise Failure store-failed.

    last: time of the last piece; lost: how often a part of the log was deleted before it was copied.
    """
    section = config.get("audit", {"days": 0})
    if not section["days"]:
        return {}
    folder = run.path(section["folder"])
    follows = place = remembered(run)
    for number in range(PIECES):
        content, follows = following(folder, place, now)
        if content:
            put(run, follows, content, now, number)
            follows = follows._replace(at=now)
        if follows != place:
            write_whole(run.path(REMEMBERED), json.dumps(follows._asdict()).encode(), 0o600)
        if not content:
            break
        place = follows
    last = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(place.at)) if place.at else ""
    return {"last": last, "lost": follows.lost}


def remembered(run: Run) -> Place:
    """Return what was copied last; the beginning of the log if that is not known."""
    try:
        return Place(**json.loads(run.path(REMEMBERED).read_text()))
    except (OSError, ValueError, TypeError):
        return Place()


def following(folder: Path, place: Place, now: float) -> tuple[bytes, Place]:
    """Return the next piece, empty if none is due, and the place after it."""
    paths = files(folder)
    names = [begins(path) for path in paths]
    if place.begins and place.begins not in names:
        paths = files(folder)  # the API server may have renamed the file meanwhile
        names = [begins(path) for path in paths]
    if place.begins in names:
        first = names.index(place.begins)
    else:
        first = 0
        if place.begins:
            say("the API server deleted a part of the audit log before it was copied to the snapshot store", "failed")
            place = place._replace(lost=place.lost + 1)
        place = place._replace(begins="", offset=0)
    for path, name in list(zip(paths, names, strict=True))[first:]:
        if not name:
            continue
        offset = place.offset if name == place.begins else 0
        content = piece(path, name, offset)
        if content and not (path.name == CURRENT and len(content) < LEAST and now - place.at < SECONDS):
            return content, place._replace(begins=name, offset=offset + len(content))
        if content or content is None:
            break
    return b"", place


def files(folder: Path) -> list[Path]:
    """Return the files of the log, oldest first. The API server compresses renamed files if the user wants it so."""
    both = (*folder.glob("audit-*.log.gz"), *folder.glob("audit-*.log"))  # if both exist, the second one is used
    renamed = {path.name.removesuffix(".gz"): path for path in both}
    return [*(renamed[name] for name in sorted(renamed)), *(path for path in [folder / CURRENT] if path.exists())]


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file of the log, compressed or not."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        yield file  # pyright: ignore[reportReturnType]  both read bytes


def begins(path: Path) -> str:
    """Return the SHA-256 of the file's first line; empty if it has no whole line or is gone."""
    try:
        with opened(path) as file:
            return _begins(file)
    except (OSError, EOFError):
        return ""


def _begins(file: BinaryIO) -> str:
    line = file.readline(LINE)
    return hashlib.sha256(line).hexdigest() if line.endswith(b"\n") or len(line) == LINE else ""


def piece(path: Path, name: str, offset: int) -> bytes | None:
    """Return whole lines from a position on; None if the file has another name now."""
    try:
        with opened(path) as file:
            if _begins(file) != name:
                return None
            file.seek(offset)
            content = file.read(PIECE)
    except (OSError, EOFError):
        return None
    end = content.rfind(b"\n") + 1
    return content[:end] if end or len(content) < PIECE else content


def put(run: Run, follows: Place, content: bytes, now: float, number: int) -> None:
    """Store a piece; number: of the piece in this round. Raise Failure store-failed."""
    offset = follows.offset - len(content)
    stamp = time.strftime("%Y%m%d/%H%M%S", time.gmtime(now))
    me = f"{run.value('machine.name')}-{run.cloud.instance()}"
    url = f"{store(run)}/{PREFIX}{stamp}.{number}-{me}-{follows.begins[:8]}-{offset}.log.gz"
    try:
        run.ask("store", url, "PUT", gzip.compress(content, mtime=0), content_type="application/gzip")
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None


def prune(run: Run, config: Configuration, now: float) -> None:
    """Delete pieces that are older than the limit. Raise Failure store-failed.

    Stores list in the order of names, at most 1,000 in an answer, so the oldest come first.
    """
    days = config.get("audit", {"days": 0})["days"]
    if not days:
        return
    oldest = time.strftime("%Y%m%d", time.gmtime(now - days * DAY))
    try:
        for found in map(KEY.fullmatch, objects.names(run, store(run), PREFIX, most=1)):
            if found and found[1] < oldest:
                run.ask("store", f"{store(run)}/{found[0]}", "DELETE")
    except OSError as error:
        raise Failure("store-failed", f"{store(run)}/{PREFIX}: {type(error).__name__}: {error}") from None
