"""Files and lock of the supervisor of a booted sandbox, and the clean-up after one that was killed."""

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

HOST_IN_USE = "another cluster is booted on this host; this one boots when that one stops"


def cloud_state_file(folder: Path) -> Path:
    """Return the file of the cloud state in a sandbox's folder."""
    return folder / "world.db"


def disks(folder: Path) -> Path:
    """Return the folder of the machines' disks; each machine has a folder in it."""
    return folder / "booted" / "machines"


def log(folder: Path) -> Path:
    """Return the supervisor's log file."""
    return folder / "booted" / "supervisor.log"


def namespace(folder: Path) -> str:
    """Return the name of the sandbox's network namespace; names of its machines' namespaces begin with it."""
    return f"mullion{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]}"


def _lock(folder: Path) -> Path:
    (folder / "booted").mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "booted" / "lock"


@contextmanager
def supervisor_lock(folder: Path) -> Iterator[None]:
    """Hold the sandbox's lock; its file holds the process id. Raises BlockingIOError if another process holds it."""
    with _lock(folder).open("a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


def supervisor_pid(folder: Path) -> int | None:
    """Return the supervisor's process id; None if no supervisor runs."""
    with _lock(folder).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            return int(file.read() or 0) or None
    return None


def clean(folder: Path, *, disks_too: bool = False) -> None:
    """Remove machines, networks and control groups that a killed supervisor left. Does nothing while one runs."""
    try:
        with supervisor_lock(folder):
            for disk in list(disks(folder).glob("*")):
                kinds = (windows, windows_host)
                stop = next((kind.stop for kind in kinds if kind.is_one(disk)), machine.stop)
                stop(disk)
            network.down(namespace(folder))
            if cloud_state_file(folder).exists():
                cloud_state = CloudState(cloud_state_file(folder))
                with cloud_state.transaction():
                    cloud_state.set_setting(BOOTED, "")
                machine_status.record_stop(cloud_state)
                cloud_state.close()
            if disks_too:
                shutil.rmtree(disks(folder), ignore_errors=True)
    except BlockingIOError:
        return
