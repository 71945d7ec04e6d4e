"""Failures that end a run. errors.json has their names and codes, for Linux and Windows."""

import errno
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT)


@cache
def errors() -> dict[str, dict[str, Any]]:
    """Return the rows of errors.json by name; in the repository the file is one folder up."""
    folder = Path(__file__).resolve().parent
    place = next(each for each in (folder / "errors.json", folder.parent / "errors.json") if each.exists())
    return {row["name"]: row for row in json.loads(place.read_text(encoding="ascii"))["errors"]}


class Failure(Exception):
    """A failure with a name of errors.json and a message that says where it occurred."""

    absent = False
    """Whether the cloud said that there is no such thing; otherwise it may be there."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.code: int = errors()[name]["code"]
        self.retry: bool = errors()[name]["retry"]


def of_file(error: OSError, path: str | Path | None = None) -> Failure:
    """Return the Failure for a failed read or write; for a full disk it has the free space there."""
    place = Path(str(error.filename or path or "/"))
    if error.errno not in FULL:
        return Failure("file-failed", f"{type(error).__name__}: {error}")
    while not place.exists() and place != place.parent:
        place = place.parent
    disk = os.statvfs(place)
    free = f"{disk.f_bavail * disk.f_frsize} bytes and {disk.f_favail} files are free"
    return Failure("disk-full", f"{path or error.filename}: {error.strerror}; {free} at {place}")
