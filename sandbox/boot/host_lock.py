"""Lock of this host: one booted cluster at a time, whatever clone it belongs to."""

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def _nothing() -> None:
    """Default of `on_wait`."""


@contextmanager
def lock_host(on_wait: Callable[[], None] = _nothing) -> Iterator[None]:
    """Hold the lock, waiting until it is free. on_wait: called once if another cluster holds it.

    The kernel gives all machines together 128 inotify instances, and a containerd without one serves no kubelet.
    """
    with (Path(tempfile.gettempdir()) / "mullion-cluster.lock").open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
