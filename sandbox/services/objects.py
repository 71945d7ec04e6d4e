"""Objects of a store as the services of all clouds read them: versions, conditions, ranges, pages of names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime

from sandbox.cloud_state import CloudState

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Version:
    """One version of an object; a delete marker has no ETag."""

    number: int
    content: bytes
    etag: str
    content_type: str
    modified: str

    @property
    def last_modified(self) -> str:
        """The modification time in the format of HTTP headers."""
        return format_datetime(datetime.fromisoformat(self.modified.replace("Z", "+00:00")), usegmt=True)


def versions(cloud_state: CloudState, bucket: str, key: str) -> list[Version]:
    """Return all versions, newest first."""
    rows = cloud_state.connection.execute(
        "SELECT version, content, etag, content_type, modified FROM objects WHERE bucket = ? AND key = ?"
        " ORDER BY version DESC",
        (bucket, key),
    )
    return [Version(*row) for row in rows]


def newest(cloud_state: CloudState, bucket: str, key: str) -> Version | None:
    """Return the newest version, or None if it is a delete marker."""
    kept = versions(cloud_state, bucket, key)
    return kept[0] if kept and kept[0].etag else None


def matches(condition: str | None, etag: str, *, default: bool) -> bool:
    """Return whether a condition header names the ETag; `default` without a header."""
    if condition is None:
        return default
    return any(one.strip() in ("*", etag, f'"{etag}"') for one in condition.split(","))


def span(header: str, size: int) -> tuple[int, int] | None:
    """Return start and end (exclusive) of a Range header, or None for the whole object. Raises IndexError if out of
    range.
    """
    wanted = _RANGE.fullmatch(header)
    if not wanted or wanted[0] == "bytes=-":
        return None
    first, last = wanted.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= end:
        raise IndexError(header)
    return start, end


def part(content: bytes, header: str) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and headers for a Range header (200 and the whole body without one). Raises IndexError."""
    wanted = span(header, len(content))
    if not wanted:
        return 200, content, {}
    start, end = wanted
    return 206, content[start:end], {"content-range": f"bytes {start}-{end - 1}/{len(content)}"}


def page(keys: Iterable[str], prefix: str, delimiter: str, after: str, most: int) -> tuple[list[str], bool]:
    """Return one page of names in byte order, and whether more follow. Keys with a delimiter after the prefix count
    once.
    """
    names = sorted({_shared(key, prefix, delimiter) for key in keys if key.startswith(prefix)}, key=str.encode)
    rest = [name for name in names if name.encode() > after.encode()]
    return rest[:most], len(rest) > most


def _shared(key: str, prefix: str, delimiter: str) -> str:
    head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
    return f"{prefix}{head}{delimiter}" if found else key
