"""Locks of this user on this host, whatever clone: one booted cluster at a time, one stack for each Windows Server."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def _nothing() -> None:
    """Default of `on_wait`."""


@contextmanager
def lock_file(name: str) -> Iterator[int]:
    """Open a file that this user's processes lock; return its descriptor.

    Everybody may write into the folder for temporary files, so the file is in a folder of this user's own: a link with
    a name known beforehand would let another user choose the file that is opened. Raises PermissionError if that folder
    is somebody else's.
    """
    folder = Path(tempfile.gettempdir()) / f"mullion-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder that only this user may write; remove it, then try again")
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def lock_host(on_wait: Callable[[], None] = _nothing) -> Iterator[None]:
    """Hold the lock, waiting until it is free. on_wait: called once if another cluster holds it.

    The kernel gives all machines together 128 inotify instances, and a containerd without one serves no kubelet.
    """
    with lock_file("cluster.lock") as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
