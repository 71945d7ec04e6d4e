"""Room that snapshots need on etcd's disk and in memory, compared with their size before they are read."""

import re
import shutil
from pathlib import Path

import objects
from failure import Failure
from run import Run

SPARE = 512 << 20
"""Bytes that stay free for the running etcd."""


def refuse_on_disk(run: Run, url: str, folder: Path, times: int = 1) -> None:
    """Raise Failure disk-full unless the folder's disk has free `times` an object's size, and SPARE."""
    _refuse(run, url, shutil.disk_usage(folder).free, times, "disk-full", f"{folder} has {{}} MiB free")


def refuse_in_memory(run: Run, url: str, times: int) -> None:
    """Raise Failure command-failed unless memory has available `times` an object's size, and SPARE."""
    said = re.search(r"(?m)^MemAvailable: +(\d+) kB$", run.path("/proc/meminfo").read_text())
    if said:
        text = "this machine has {} MiB of memory available"
        _refuse(run, url, int(said[1]) << 10, times, "command-failed", text)


def _refuse(run: Run, url: str, free: int, times: int, failure: str, text: str) -> None:
    """Raise a Failure, or store-failed if the object's size cannot be compared."""
    most = (free - SPARE) // times
    try:
        fits = most > 0 and not objects.is_larger(run, url, most)
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    if not fits:
        needed = f"{times} times the size of {url.rpartition('/')[2]}, and {SPARE >> 20} MiB for the running etcd"
        raise Failure(failure, f"{text.format(free >> 20)}, and needs {needed}")
