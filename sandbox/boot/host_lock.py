"""One cluster at a time on a machine, whatever clone it belongs to."""

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def _nothing() -> None:
    """Nobody is told."""


@contextmanager
def alone(waits: Callable[[], None] = _nothing) -> Iterator[None]:
    """Hold the machine for one cluster. waits: called where another has it, before this waits until that ends.

    Its kernel gives all machines together 128 inotify instances, and a containerd that gets none serves no kubelet.
    """
    with (Path(tempfile.gettempdir()) / "mullion-cluster.lock").open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
