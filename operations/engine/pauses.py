"""The operator's pause of a roll: a file that the hooks of the run in progress look for before they delete a worker."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from components.rollout.holds import PAUSE_FILE
from operations.stacks import target


def _file(name: str) -> Path:
    return target.folder(name) / "pause"


@contextmanager
def _locked(name: str, kind: int) -> Iterator[None]:
    """Hold the lock of a stack's runs in this clone. Raises BlockingIOError if another run's lock excludes it."""
    folder = target.folder(name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / "running", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def obeyed(name: str) -> Iterator[None]:
    """Make the hooks of this run obey a pause that is asked for from now on. An earlier pause ends."""
    with suppress(BlockingIOError), _locked(name, fcntl.LOCK_EX):
        _file(name).unlink(missing_ok=True)
    with _locked(name, fcntl.LOCK_SH):
        before = os.environ.get(PAUSE_FILE)
        os.environ[PAUSE_FILE] = str(_file(name).absolute())
        try:
            yield
        finally:
            os.environ.pop(PAUSE_FILE)
            if before is not None:
                os.environ[PAUSE_FILE] = before


def ask(name: str) -> bool:
    """Ask the run in progress of a stack to delete no more workers; return False if this clone runs none."""
    try:
        with _locked(name, fcntl.LOCK_EX):
            return False
    except BlockingIOError:
        _file(name).touch(mode=0o600)
        return True
