"""Reader of first-contact archives. It trusts nothing in them: an attacker on the machine could have written one."""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from operations.console.exits import Exit, Stop

FORMAT = 1
RESULT = "result.json"

MOST_FILES = 500
MOST_FILE = 16 * 1024 * 1024
"""Bytes of one unpacked file; the kit writes at most 12 Mi characters in all."""
MOST_WHOLE = 64 * 1024 * 1024
"""Bytes of all unpacked files, and of the archive itself."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,3}")
"""Plain relative names: no drive, no .., no leading dot or slash."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters: those of terminals, and those that change the direction of text."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError, ValueError,
            OverflowError, OSError)  # fmt: skip
"""What zipfile raises for damaged archives."""

_ROW = {"check": str, "expected": str, "found": str, "fits": bool}


@dataclass(frozen=True)
class Contact:
    """A checked archive: result.json, and the JSON documents in dumps/ by name without dumps/ and .json."""

    kit: Mapping[str, Any]
    windows: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    changes: tuple[Mapping[str, Any], ...]
    left_out: tuple[Mapping[str, Any], ...]
    dumps: Mapping[str, Any]

    @property
    def differences(self) -> tuple[Mapping[str, Any], ...]:
        """Return the rows that are not as expected."""
        return tuple(each for each in self.rows if not each["fits"])


def read(path: Path) -> Contact:
    """Return the content of an archive. Raises Stop with the reason if `mullion first-contact` did not write it."""
    files = _files(path)
    if RESULT not in files:
        raise _wrong(path, f"it has no {RESULT}")
    result = _json(path, RESULT, files[RESULT])
    if not isinstance(result, dict) or cast(dict[str, Any], result).get("format") != FORMAT:
        raise _wrong(path, f"{RESULT} is not of format {FORMAT}")
    whole = cast(dict[str, Any], result)
    lists = {name: _mappings(path, whole, name) for name in ("rows", "changes", "left_out")}
    for number, row in enumerate(lists["rows"], 1):
        for key, type_ in _ROW.items():
            if not isinstance(row.get(key), type_):
                raise _wrong(path, f"row {number} of {RESULT} has no {key} of type {type_.__name__}")
    members = {name: whole.get(name) for name in ("kit", "windows")}
    for name, value in members.items():
        if not isinstance(value, dict):
            raise _wrong(path, f"{RESULT} has no object {name}")
    dumps = {
        name.removeprefix("dumps/").removesuffix(".json"): _json(path, name, text)
        for name, text in files.items()
        if name.startswith("dumps/") and name.endswith(".json")
    }
    return Contact(
        members["kit"] or {}, members["windows"] or {}, lists["rows"], lists["changes"], lists["left_out"], dumps
    )


def plain(text: object) -> str:
    """Return a text of the archive without control characters, for a terminal."""
    return _CONTROL.sub("?", str(text))


def _files(path: Path) -> dict[str, str]:
    """Return the text of each file. Sizes are counted while unpacking: headers may lie."""
    left, files = MOST_WHOLE, dict[str, str]()
    try:
        if path.stat().st_size > MOST_WHOLE:
            raise _wrong(path, f"it is larger than {MOST_WHOLE:,} bytes")
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES:
                raise _wrong(path, f"it has {len(entries)} files, more than {MOST_FILES}")
            for entry in entries:
                if not _NAME.fullmatch(entry.filename) or entry.filename in files:
                    raise _wrong(path, f"it has a file named {plain(entry.filename)!r}, or has it twice")
                with archive.open(entry) as file:
                    content = file.read(min(MOST_FILE, left) + 1)
                left -= len(content)
                if len(content) > MOST_FILE or left < 0:
                    raise _wrong(path, f"{entry.filename} unpacks to too many bytes")
                files[entry.filename] = content.decode("utf-8", "replace")
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the file is missing or cannot be opened
        raise _wrong(path, plain(error)) from error
    return files


def _json(path: Path, name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"{name} is not JSON: {plain(error)}") from error


def _mappings(path: Path, result: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    found = result.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast(list[Any], found)):
        raise _wrong(path, f"{name} of {RESULT} is not a list of objects")
    return tuple(cast(list[dict[str, Any]], found))


def _wrong(path: Path, why: str) -> Stop:
    return Stop(
        Exit.USAGE, f"{path} is not an archive of a first contact: {why}; pass C:\\first-contact\\first-contact.zip"
    )
