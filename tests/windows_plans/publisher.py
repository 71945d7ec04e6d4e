"""What publishers have: every download of a Windows node in the exact layout of its own, packed of stand-ins.

A stack takes them by its ordinary options: entries with their digests, and a mirror.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from components.catalogue import artifacts
from components.node.downloads import Download
from lab import windows


def publish(wanted: tuple[Download, ...], standins: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """Files by their place in a mirror (<host>/<path>), and the entries of `artifacts` that pin them."""
    files: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    for each in wanted:
        known = artifacts.find(each.name, each.version, "windows")
        packed = _packed(each.name, each.version, standins)
        files[known.url.partition("://")[2]] = packed
        pinned = {"sha256": hashlib.sha256(packed).hexdigest(), "size": len(packed)}
        entries.append({"name": each.name, "version": each.version, "os": "windows", "url": known.url, **pinned})
    return files, entries


@cache
def _packed(name: str, version: str, standins: Path) -> bytes:
    return windows.download(name, version, lambda program: windows.content(program, version, standins))
