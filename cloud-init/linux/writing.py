"""Atomic file writes: written beside the path, flushed to disk, renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from failure import FULL, of_file

LONGEST = 200
"""Maximum bytes of the name used in the temporary name; file systems allow 255."""


def beside(path: Path, ending: str = "new") -> Path:
    """Return the temporary path of a file."""
    kept = os.fsencode(path.name)[:LONGEST]
    return path.with_name(f".{os.fsdecode(kept)}.mullion-{ending}")


@contextmanager
def whole(path: Path, mode: int) -> Iterator[BinaryIO]:
    """Yield a file to write to; it is renamed to the path when the block ends, and removed if the block fails.

    Created with mode 0600 until it has its own. Raise Failure disk-full; other errors stay OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = beside(path)
    partial.unlink(missing_ok=True)
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        rename(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        if error.errno in FULL:
            raise of_file(error, path) from None
        raise
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Write the file atomically with its mode."""
    with whole(path, mode) as file:
        file.write(content)


def rename(partial: Path, path: Path) -> None:
    """Rename a complete file to its path and flush the folder, so a power loss does not undo it."""
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
