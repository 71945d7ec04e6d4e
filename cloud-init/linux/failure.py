"""Failures that a run can end with: numbered and named in errors.json, the one table of both executors."""

import errno
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT)


@cache
def errors() -> dict[str, dict[str, Any]]:
    """Rows of errors.json by name; it lies beside the scripts in a bundle, one folder up in the repository."""
    folder = Path(__file__).resolve().parent
    place = next(each for each in (folder / "errors.json", folder.parent / "errors.json") if each.exists())
    return {row["name"]: row for row in json.loads(place.read_text(encoding="ascii"))["errors"]}


class Failure(Exception):
    """What went wrong: a name of errors.json, and a message that says where."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.code: int = errors()[name]["code"]
        self.retry: bool = errors()[name]["retry"]


def of_file(error: OSError, path: str | Path | None = None) -> Failure:
    """A failed read or write; a full disk says how much is free where the file was to be."""
    place = Path(str(error.filename or path or "/"))
    if error.errno not in FULL:
        return Failure("file-failed", f"{type(error).__name__}: {error}")
    while not place.exists() and place != place.parent:
        place = place.parent
    disk = os.statvfs(place)
    free = f"{disk.f_bavail * disk.f_frsize} bytes and {disk.f_favail} files are free"
    return Failure("disk-full", f"{path or error.filename}: {error.strerror}; {free} at {place}")
