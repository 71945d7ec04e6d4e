"""Where a booted sandbox has what is its own, whether somebody keeps it, and how what a killed keeper left is ended."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.linuxnode import machine, network
from sandbox.boot import machine_status
from sandbox.boot.windows import host as windows_host
from sandbox.boot.windows import machine as windows
from sandbox.cloud_state import CloudState
from sandbox.simulated_boot import BOOTED

WAITS = "another cluster runs on this machine; this one comes up when that has ended"


def cloud_state(folder: Path) -> Path:
    """The world of a sandbox's folder."""
    return folder / "world.db"


def disks(folder: Path) -> Path:
    """Disks of its machines, one folder each."""
    return folder / "booted" / "machines"


def log(folder: Path) -> Path:
    """What the keeper says."""
    return folder / "booted" / "keeper.log"


def net(folder: Path) -> str:
    """Name of its network namespace; those of its machines begin with it."""
    return f"mullion{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]}"


def _lock(folder: Path) -> Path:
    (folder / "booted").mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "booted" / "lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the only one who keeps it, or cleans up; BlockingIOError where another one does."""
    with _lock(folder).open("a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


def keeper(folder: Path) -> int | None:
    """Process id of who keeps it; None where nobody does."""
    with _lock(folder).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            return int(file.read() or 0) or None
    return None


def clean(folder: Path, *, disks_too: bool = False) -> None:
    """End what a keeper left that was killed: machines, networks, control groups. Nothing where one is at work."""
    try:
        with held(folder):
            left = list(disks(folder).glob("*"))
            for each in left:
                stop = next((kind.stop for kind in (windows, windows_host) if kind.is_one(each)), machine.stop)
                stop(each)
            network.down(net(folder))
            if cloud_state(folder).exists():
                here = CloudState(cloud_state(folder))
                with here.transaction():
                    here.set_setting(BOOTED, "")
                machine_status.close_site(here)
                here.close()
            if disks_too:
                shutil.rmtree(disks(folder), ignore_errors=True)
    except BlockingIOError:
        return
