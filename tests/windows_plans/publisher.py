"""Publishers' downloads: each download of a Windows node in its exact layout, packed from stand-ins.

A stack uses them by ordinary options: `artifacts` entries with their digests, and a mirror.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from components.catalogue import artifacts
from components.node.downloads import Download
from lab import windows


def publish(wanted: tuple[Download, ...], standins: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """Return files by their path in a mirror (<host>/<path>), and the entries of `artifacts` that pin them."""
    files: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    for download in wanted:
        pin = artifacts.find(download.name, download.version, "windows")
        packed = _packed(download.name, download.version, standins)
        files[pin.url.partition("://")[2]] = packed
        pinned = {"sha256": hashlib.sha256(packed).hexdigest(), "size": len(packed)}
        entries.append({"name": download.name, "version": download.version, "os": "windows", "url": pin.url, **pinned})
    return files, entries


@cache
def _packed(name: str, version: str, standins: Path) -> bytes:
    return windows.download(name, version, lambda program: windows.content(program, version, standins))
