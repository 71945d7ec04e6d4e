"""Snapshots of etcd by their keys: which are this cluster's, and how old they are."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from components.rollout.plain_text import plain
from components.rollout.signed_documents import is_signed_snapshot

SNAPSHOTS = "etcd/"
TIME = "%Y%m%dT%H%M%SZ"
"""Time in the key of a snapshot, UTC (cloud-init/linux/snapshot_names.py)."""
FUTURE = timedelta(minutes=5)
"""How far a snapshot's time may lie in the future: clocks differ."""


@dataclass(frozen=True)
class SnapshotStore:
    """A cluster's snapshot bucket: keys of snapshots, newest first, and the number of founding records."""

    bucket: str
    snapshots: list[str]
    ignored: list[str]
    """Other keys below SNAPSHOTS: without the cluster's MAC, or with a future time."""
    records: int
    cluster: str
    """Hash of the cluster's certificate authority, as every founding record has it."""
    cloud: str
    key: str = field(default="", repr=False)
    """Key of the MACs of snapshots and founding records."""
    unexpected: tuple[str, ...] = ()
    """Keys below LOG that are not the records 0, 1, ... without a gap."""
    published: int = -1
    """Number of the last founding as the bundle store has it; -1 if it has none that the control plane has signed."""


def sorted_out(key: str, names: Collection[str], now: datetime | None = None) -> tuple[list[str], list[str]]:
    """Return the keys of signed snapshots, newest first, and all other keys. key: the key of their MAC.

    Unsigned objects are sorted out, because anybody with write access to the bucket can add some.
    """
    latest = f"{(now or datetime.now(timezone.utc)) + FUTURE:{TIME}}"
    good = sorted(
        (name for name in names if is_signed_snapshot(key, name) and _stamp(name) <= latest), key=_stamp, reverse=True
    )
    known = {*good}
    return good, sorted(name for name in names if name not in known)


def _stamp(key: str) -> str:
    return key.removeprefix(SNAPSHOTS).partition("-")[0]


def age(key: str, now: datetime | None = None) -> str:
    """Return how old a snapshot is, by the time in its key; empty if the key has none."""
    try:
        made = datetime.strptime(_stamp(key), "%Y%m%dT%H%M%S%z")
    except ValueError:
        return ""
    minutes = int(((now or datetime.now(timezone.utc)) - made).total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(minutes, 0)} min"


def ignoring(stored: SnapshotStore) -> str:
    """Return a warning that names the objects that are not snapshots of this cluster."""
    few = ", ".join(plain(key)[:200] for key in stored.ignored[:3]) + (", ..." if len(stored.ignored) > 3 else "")
    return (
        f"mullion: {len(stored.ignored)} objects below {SNAPSHOTS} of bucket {stored.bucket} are ignored ({few}): "
        "their names lack the MAC of this cluster's key (desired-state), or have a future time. Find out who wrote "
        "them, unless rotation.desired_state was raised since"
    )
