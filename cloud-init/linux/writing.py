"""Files that are there whole or as they were: written beside their place, synchronised, renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from failure import FULL, of_file

LONGEST = 200
"""Bytes kept of a name in the name beside it: file systems take 255."""


def beside(path: Path, ending: str = "new") -> Path:
    """Where a file is written before it gets its name."""
    kept = os.fsencode(path.name)[:LONGEST]
    return path.with_name(f".{os.fsdecode(kept)}.mullion-{ending}")


@contextmanager
def whole(path: Path, mode: int) -> Iterator[BinaryIO]:
    """A file to write to; it gets the name when the block ends, and is removed when the block fails.

    Nobody else can read it before it has its mode. Failure disk-full; any other error stays an OSError.
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
    """The file is there whole, with its mode, or as it was before."""
    with whole(path, mode) as file:
        file.write(content)


def rename(partial: Path, path: Path) -> None:
    """Gives a finished file its name, so that a cut of power does not take the name back."""
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
