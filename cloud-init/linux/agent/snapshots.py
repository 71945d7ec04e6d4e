"""Snapshots of etcd in the snapshot store: taken, verified, named (snapshot_names.py), and pruned.

Whoever writes the store may plant objects: one without this cluster's MAC or with a future time is no snapshot.
"""

import calendar
import hashlib
import mmap
import time
from pathlib import Path
from typing import Any, NamedTuple

import objects
import snapshot_names
from failure import Failure
from report import say
from run import Run
from snapshot_names import PREFIX

from agent import configmap_requests, etcd
from agent.api import Api
from agent.configuration import Configuration

TIME = "%Y%m%dT%H%M%SZ"
DIGEST = 32
"""Bytes of the SHA-256 that etcd appends to a snapshot."""
DAY = 86400
MONDAY = 4 * DAY
"""Begin of the first whole week of 1970: 5 January was a Monday."""
REQUEST = "mullion-snapshot"
"""Name of the ConfigMap of kube-system with which `mullion snapshot` requests one (operations/commands/snapshot.py)."""
IGNORED = "their names lack this cluster's MAC, or have a future time"


class Snapshot(NamedTuple):
    """One snapshot in the store."""

    at: float
    """Seconds since 1970."""
    key: str


def stored(run: Run, now: float, bucket: str = "", folder: str = "") -> tuple[list[Snapshot], list[str]]:
    """Return the snapshots, newest first, and other objects below PREFIX. Raise Failure store-failed.

    bucket: URL; default: the snapshot store. folder: in front of PREFIX; the names are returned without it.
    """
    bucket = bucket or store(run)
    try:
        listed = [name.removeprefix(folder) for name in objects.names(run, bucket, f"{folder}{PREFIX}")]
    except OSError as error:
        raise Failure("store-failed", f"{bucket}/{folder}{PREFIX}: {type(error).__name__}: {error}") from None
    secret, found = mac_key(run), list[Snapshot]()
    for key in listed:
        parts = snapshot_names.signed(secret, key)
        if parts and (at := seconds(parts["at"])) <= now:
            found.append(Snapshot(at, key))
    known = {each.key for each in found}
    return sorted(found, reverse=True), [key for key in listed if key not in known]


def mac_key(run: Run) -> str:
    """Return the key of the MAC in names of snapshots."""
    return run.secret(run.value("facts.desired_state_secret"))


def seconds(stamp: str) -> float:
    """Return the time in a key, in seconds since 1970."""
    return calendar.timegm(time.strptime(stamp, TIME))


def store(run: Run) -> str:
    """Return the URL of the snapshot store."""
    return run.value("facts.snapshot_store").rstrip("/")


def due(snapshots: list[Snapshot], now: float, every_minutes: float) -> bool:
    """Return whether a snapshot is due."""
    return not any(now - every_minutes * 60 < each.at for each in snapshots)


def surplus(snapshots: list[Snapshot], now: float, section: dict[str, Any]) -> list[Snapshot]:
    """Return the snapshots that no rule keeps. section: `snapshots` of the configuration.

    Kept are the newest few, all that are younger than the limit, and for longer the last of each day and of each week.
    """
    newest = sorted(snapshots, reverse=True)
    kept = {*newest[: section["keep"]], *(each for each in newest if each.at >= now - section["days"] * DAY)}
    kept |= last_of_each(newest, DAY, 0, now - section["daily"] * DAY)
    kept |= last_of_each(newest, 7 * DAY, MONDAY, now - section["weekly"] * 7 * DAY)
    return [each for each in newest if each not in kept]


def last_of_each(newest: list[Snapshot], period: int, begin: int, oldest: float) -> set[Snapshot]:
    """Return the last snapshot of each period, not older than `oldest`. All in seconds; begin: of a first period."""
    last = dict[int, Snapshot]()
    for each in newest:
        last.setdefault(int(each.at - begin) // period, each)
    return {each for each in last.values() if each.at >= oldest}


def make(run: Run, configuration: Configuration, reason: str, now: float) -> str:
    """Take and store a snapshot; return its key. Raise Failure command-failed, digest-mismatch or store-failed."""
    name = configuration["snapshots"]["file"]
    file = run.path(name)
    try:
        etcd.etcdctl(run, configuration, "snapshot", "save", name)
        return upload(run, file, time.strftime(TIME, time.gmtime(now)), reason)
    finally:
        file.unlink(missing_ok=True)


def upload(run: Run, file: Path, stamp: str, reason: str) -> str:
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
        key = snapshot_names.name(mac_key(run), stamp, reason, hashlib.sha256(content).hexdigest())
        try:
            objects.put(run, f"{store(run)}/{key}", content)
        except (OSError, ValueError) as error:
            raise Failure("store-failed", f"{key}: {type(error).__name__}: {error}") from None
    return key


def reconcile(run: Run, configuration: Configuration, now: float) -> dict[str, object]:
    """Take a snapshot if due and delete surplus ones; return values for the status record.

    count: of snapshots; newest: key; ignored: count of other objects, which stay in the store.
    """
    section, (found, others) = configuration["snapshots"], stored(run, now)
    if due(found, now, section["every_minutes"]):
        make(run, configuration, "timer", now)
        found, others = stored(run, max(now, time.time()))  # another machine may have stored one during these minutes
    if others:
        say(f"{len(others)} objects of the snapshot store are ignored, such as {others[0][:200]}: {IGNORED}", "failed")
    for each in surplus(found, now, section):
        run.ask("store", f"{store(run)}/{each.key}", "DELETE")
        found.remove(each)
    return {"count": len(found), "newest": found[0].key if found else "", "ignored": len(others)}


def answer(run: Run, configuration: Configuration, api: Api, now: float) -> None:
    """Take the requested snapshot, if any; the answer has its `key`. Raise the error."""
    configmap_requests.answer(run, api, REQUEST, lambda _: {"key": make(run, configuration, "command", now)})
