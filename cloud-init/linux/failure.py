"""Failures that a run can end with: numbered and named in errors.json, the one table of both executors."""

import json
from pathlib import Path
from typing import Any


def read_errors(folder: Path) -> dict[str, dict[str, Any]]:
    """Rows of errors.json by name; it lies beside the scripts in a bundle, one folder up in the repository."""
    place = next(each for each in (folder / "errors.json", folder.parent / "errors.json") if each.exists())
    return {row["name"]: row for row in json.loads(place.read_text(encoding="ascii"))["errors"]}


ERRORS = read_errors(Path(__file__).resolve().parent)


class Failure(Exception):
    """What went wrong: a name of errors.json, and a message that says where."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.code = ERRORS[name]["code"]
        self.retry = ERRORS[name]["retry"]
