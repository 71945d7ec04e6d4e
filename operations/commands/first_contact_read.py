"""`mullion first-contact --read`: print what differed on a machine, and write its dumps as test data."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from operations.commands.first_contact_archive import Contact, plain, read
from operations.console.exits import Exit, Stop

_PATTERNS = {
    "id": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    "mac": re.compile(r"\b[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}\b"),
    "sid": re.compile(r"\bS-1-5-21(?:-\d+){3,}"),
    "address": re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"),
}
"""Patterns of values that differ from machine to machine, by the word that replaces them: <id-1>, <mac-1>, ..."""

_KEPT = re.compile(r"0\.0\.0\.0|255\..*|127\..*|169\.254\.169\..*|224\..*|10\.244\.25[01]\..*")
"""Addresses that are the same on every machine: masks, loopback, services of clouds, ranges of the test networks."""


def show(path: Path, *, as_json: bool, golden: Path | None) -> None:
    """Print the differences; with golden, also write the dumps below that folder as test data."""
    contact = read(path)
    if as_json:
        print(json.dumps({"kit": contact.kit, "windows": contact.windows, "rows": contact.rows}, indent=2))
    else:
        print(text(contact))
    if golden is not None:
        folder = golden / name(contact)
        _write(folder, shapes(contact))
        print(f"{len(contact.dumps)} dumps in {folder}")


def text(contact: Contact) -> str:
    """Return the kit, the machine and each difference as lines, without control characters."""
    kit, windows = contact.kit, contact.windows
    wanted = " ".join(plain(kit.get(key, "?")) for key in ("os", "runtime", "network"))
    build = ".".join(plain(windows.get(key, "?")) for key in ("CurrentBuildNumber", "UBR"))
    checks = f"{len(contact.rows)} checks, {len(contact.differences)} differ"
    lines = [
        f"Mullion {plain(kit.get('mullion', '?'))}, {wanted}, Kubernetes {plain(kit.get('kubernetes', '?'))}",
        f"on {plain(windows.get('ProductName', '?'))}, build {build}",
        f"{checks}; {len(contact.changes)} steps changed the machine",
    ]
    for row in contact.differences:
        lines += [
            "",
            plain(row["check"]),
            f"  expected: {plain(row['expected'])}",
            f"  found:    {plain(row['found'])}",
        ]
    if contact.left_out:
        names = ", ".join(plain(each.get("step", "?")) for each in contact.left_out)
        lines += ["", f"left out, because they need a cluster: {names}"]
    return "\n".join(lines)


def name(contact: Contact) -> str:
    """Return the name of the folder for a machine's dumps: Windows build, update, cloud."""
    parts = (contact.windows.get("CurrentBuildNumber"), contact.windows.get("UBR"), contact.kit.get("cloud"))
    return "-".join(re.sub(r"[^A-Za-z0-9]", "", str(each)) or "unknown" for each in parts)


def shapes(contact: Contact) -> dict[str, str]:
    """Return each dump as indented JSON by file name, with values of one machine replaced by numbered words.

    One value gets the same word in all dumps, so that an endpoint still names its network.
    """
    words: dict[str, dict[str, str]] = {word: {} for word in _PATTERNS}

    def replaced(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: replaced(each) for key, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if not isinstance(value, str):
            return value
        for word, pattern in _PATTERNS.items():
            value = pattern.sub(lambda match, word=word: _word(words[word], word, match[0]), value)
        return value

    ordered = sorted(contact.dumps.items())
    return {f"{key.replace('/', '-')}.json": json.dumps(replaced(each), indent=1) + "\n" for key, each in ordered}


def _word(known: dict[str, str], word: str, value: str) -> str:
    if word == "address" and _KEPT.fullmatch(value):
        return value
    return known.setdefault(value.lower(), f"<{word}-{len(known) + 1}>")


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into a new folder. Raises Stop if it exists, so no golden file is overwritten."""
    if folder.exists():
        raise Stop(Exit.USAGE, f"{folder} exists; remove it first to replace the dumps of that machine")
    folder.mkdir(parents=True)
    for file, content in files.items():
        (folder / file).write_text(content, "utf-8")
