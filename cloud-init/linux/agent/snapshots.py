"""Snapshots of etcd in the snapshot store: taken, verified, named by time, reason and digest, and pruned.

etcd/20261124T093000Z-timer.<sha256>.db         at an interval
etcd/20261124T101500Z-1795600000.<sha256>.db    before a change; the pointer's serial is the reason
"""

import calendar
import hashlib
import mmap
import re
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from failure import Failure
from run import Run

from agent import etcd
from agent.configuration import Configuration

PREFIX = "etcd/"
TIME = "%Y%m%dT%H%M%SZ"
KEY = re.compile(PREFIX + r"(\d{8}T\d{6}Z)-(timer|\d+)\.([0-9a-f]{64})\.db")
DIGEST = 32
"""Bytes of the SHA-256 that etcd appends to a snapshot."""
DAY = 86400


class Snapshot(NamedTuple):
    """One snapshot in the store."""

    at: float
    """Seconds since 1970."""
    key: str


def stored(run: Run) -> list[Snapshot]:
    """Return all snapshots, newest first. Raise Failure store-failed."""
    query, name = run.cloud.LISTING
    url = f"{store(run)}{query}{quote(PREFIX, safe='')}"
    try:
        listed = name.findall(run.ask("store", url).decode())
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    known = [(KEY.fullmatch(key), key) for key in listed]
    return sorted((Snapshot(seconds(found[1]), key) for found, key in known if found), reverse=True)


def seconds(stamp: str) -> float:
    """Return the time in a key, in seconds since 1970."""
    return calendar.timegm(time.strptime(stamp, TIME))


def store(run: Run) -> str:
    """Return the URL of the snapshot store."""
    return run.value("facts.snapshot_store").rstrip("/")


def due(snapshots: list[Snapshot], now: float, every_minutes: float) -> bool:
    """Return whether a snapshot is due; ignores snapshots with a future time, from a machine with a wrong clock."""
    return not any(now - every_minutes * 60 < each.at <= now for each in snapshots)


def surplus(snapshots: list[Snapshot], now: float, keep: int, days: float) -> list[Snapshot]:
    """Return the snapshots older than the limit, without the newest few."""
    newest = sorted(snapshots, reverse=True)
    return [each for each in newest[keep:] if each.at < now - days * DAY]


def make(run: Run, configuration: Configuration, reason: str, now: float) -> str:
    """Take and store a snapshot; return its key. Raise Failure command-failed, digest-mismatch or store-failed."""
    name = configuration["snapshots"]["file"]
    file = run.path(name)
    try:
        etcd.etcdctl(run, configuration, "snapshot", "save", name)
        return upload(run, file, f"{time.strftime(TIME, time.gmtime(now))}-{reason}")
    finally:
        file.unlink(missing_ok=True)


def upload(run: Run, file: Path, name: str) -> str:
    """Store a complete snapshot; return its key."""
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as content,
    ):
        if hashlib.sha256(content[:-DIGEST]).digest() != bytes(content[-DIGEST:]):
            raise Failure(
                "digest-mismatch", f"{file} is not a complete snapshot: the SHA-256 at its end does not match"
            )
        key = f"{PREFIX}{name}.{hashlib.sha256(content).hexdigest()}.db"
        try:
            run.ask("store", f"{store(run)}/{key}", "PUT", content, content_type="application/octet-stream")
        except OSError as error:
            raise Failure("store-failed", f"{key}: {type(error).__name__}: {error}") from None
    return key


def reconcile(run: Run, configuration: Configuration, now: float) -> dict[str, object]:
    """Take a snapshot if due and delete surplus ones; return their count and the newest key for the status record."""
    told, found = configuration["snapshots"], stored(run)
    if due(found, now, told["every_minutes"]):
        make(run, configuration, "timer", now)
        found = stored(run)
    for each in surplus(found, now, told["keep"], told["days"]):
        run.ask("store", f"{store(run)}/{each.key}", "DELETE")
        found.remove(each)
    return {"count": len(found), "newest": found[0].key if found else ""}
