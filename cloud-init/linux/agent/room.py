"""Room that snapshots need on etcd's disk and in memory, compared with their size before they are read."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import objects
from failure import Failure
from run import Run

SPARE = 512 << 20
"""Bytes that stay free for the running etcd."""
EVICTING = 0.15
"""Share of the root disk below which the kubelet deletes images and evicts pods (Kubernetes, "Node-pressure Eviction":
imagefs.available 15 %, nodefs.available 10 %)."""


class _Room(NamedTuple):
    """Bytes that are free, and of them the bytes that have to stay free for somebody; failure and text without room."""

    free: int
    spare: int
    whose: str
    failure: str
    text: str


def refuse_on_disk(run: Run, url: str, folder: Path, times: int = 1) -> None:
    """Raise Failure disk-full unless the folder's disk has free `times` an object's size, and SPARE.

    If it is the root disk, as much has to stay free as the kubelet wants.
    """
    disk, spare, whose = shutil.disk_usage(folder), SPARE, "the running etcd"
    if is_on_root_disk(run, folder) and disk.total * EVICTING > SPARE:
        spare, whose = int(disk.total * EVICTING), "the kubelet, which evicts pods below it"
    _refuse(run, url, times, _Room(disk.free, spare, whose, "disk-full", f"{folder} has {{}} MiB free"))


def is_on_root_disk(run: Run, folder: Path) -> bool:
    """Return whether a folder is on the root disk, which has the kubelet's folder and the images."""
    return folder.stat().st_dev == run.path("/").stat().st_dev


def refuse_in_memory(run: Run, url: str, times: int) -> None:
    """Raise Failure command-failed unless memory has available `times` an object's size, and SPARE."""
    said = re.search(r"(?m)^MemAvailable: +(\d+) kB$", run.path("/proc/meminfo").read_text())
    if said:
        text = "this machine has {} MiB of memory available"
        _refuse(run, url, times, _Room(int(said[1]) << 10, SPARE, "the running etcd", "command-failed", text))


def _refuse(run: Run, url: str, times: int, room: _Room) -> None:
    """Raise the room's Failure, or store-failed if the object's size cannot be compared."""
    most = (room.free - room.spare) // times
    try:
        fits = most > 0 and not objects.is_larger(run, url, most)
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    if not fits:
        needed = f"{times} times the size of {url.rpartition('/')[2]}, and {room.spare >> 20} MiB for {room.whose}"
        raise Failure(room.failure, f"{room.text.format(room.free >> 20)}, and needs {needed}")
