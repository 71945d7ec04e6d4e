"""Parser of publishers' checksum files: finds the digest of one file in any of their formats."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

ALGORITHMS = {64: "sha256", 128: "sha512"}
"""Number of hexadecimal digits -> algorithm. Weaker algorithms (md5, sha1) are refused."""

_HEX = r"(?P<hex>[0-9A-Fa-f]{64,128})"
_LINES = tuple(
    re.compile(shape)
    for shape in (
        # GNU coreutils: two spaces, or one and a star for binary; a backslash in front escapes the name
        rf"\\?{_HEX}\s+\*?(?P<name>\S.*)",
        # BSD, and coreutils --tag
        rf"(?:SHA-?\d+)\s*\((?P<name>.+)\)\s*=\s*{_HEX}",
        # PowerShell's Get-FileHash as a table
        rf"SHA-?\d+\s+{_HEX}(?:\s+(?P<name>\S.*))?",
        rf"(?P<name>[^\s:=]+)\s*[:=]\s*{_HEX}",
        _HEX,
    )
)
_HEADING = re.compile(r"SHA-?\d+ (?:hash|checksum) of (?:file )?(?P<name>.+?):?", re.IGNORECASE)
"""First line of certutil's output; the digest is on the next line."""


class BadChecksums(ValueError):
    """The checksum file has no digest for the download, or several."""


def digest_of(content: bytes, file_name: str) -> str:
    """Return the digest of a file name in a checksum file: sha256:<hex> or sha512:<hex>, in lower case.

    A line without a name counts only if no line has a name. Raises BadChecksums with the reason.
    """
    text = _decoded(content)
    rows = list(_rows(text))
    named = [digest for name, digest in rows if name == file_name]
    nameless = [digest for name, digest in rows if name is None] if all(name is None for name, _ in rows) else []
    found = sorted(set(named or nameless))
    if len(found) > 1:
        raise BadChecksums(f"it has {len(found)} different digests for {file_name}: {', '.join(found)}")
    if not found:
        others = ", ".join(sorted({name for name, _ in rows if name})[:4])
        raise BadChecksums(f"it has no digest for {file_name}; it names {others or 'nothing'}: {text[:60]!r}")
    return found[0]


def checked(digest: str) -> str:
    """Normalise a typed digest: sha256:<hex>, sha512:<hex> or bare hexadecimal digits. Raises ValueError for others."""
    bare = digest.strip().lower().rpartition(":")[2]
    algorithm = ALGORITHMS.get(len(bare))
    if algorithm is None or not re.fullmatch("[0-9a-f]+", bare) or digest.lower() not in (bare, f"{algorithm}:{bare}"):
        raise ValueError(f"{digest!r} is not a digest; write sha256: and 64, or sha512: and 128 hexadecimal digits")
    return f"{algorithm}:{bare}"


def _decoded(content: bytes) -> str:
    """Decode a checksum file: UTF-16 with a byte order mark from PowerShell's redirection, else UTF-8."""
    utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if utf_16 else "utf-8", errors="replace").lstrip("\ufeff")


def _rows(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (last part of the file's name or None, digest)."""
    heading: str | None = None
    for line in text.splitlines():
        heads = _HEADING.fullmatch(line.strip())
        if heads:
            heading = _last(heads["name"])
            continue
        found = next((match for shape in _LINES if (match := shape.fullmatch(line.strip()))), None)
        algorithm = ALGORITHMS.get(len(found["hex"])) if found else None
        if found and algorithm:
            name = found.groupdict().get("name")
            yield _last(name) if name else heading, f"{algorithm}:{found['hex'].lower()}"
            heading = None


def _last(name: str) -> str:
    return PurePosixPath(name.strip().strip('"').replace("\\", "/")).name
