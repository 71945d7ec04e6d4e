"""Downloads over http: resumed, tried again, and under their final name only when the digest is right.

Proxies come from the environment (http_proxy, https_proxy, no_proxy), authorities from the system (SSL_CERT_FILE).
"""

import errno
import hashlib
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BLOCK = 1 << 20
STALLED_SECONDS = 30
"""A server that sends nothing for so long has stalled."""
WAITS = (1, 3, 9)
"""Seconds before each further try."""
LARGEST_TEXT = 4 << 20
"""Bytes of a checksum file; more is something else."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that nobody stands before."""

Heard = Callable[[int, int | None], None]
"""Called with the bytes there are, and how many there will be where that is known."""


class Unreachable(Exception):
    """The server gave no whole answer. `status` is its refusal's, where it gave one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def passes(self) -> bool:
        """Whether trying again may help."""
        return self.status is None or self.status >= 500 or self.status in (408, 429)


class WrongDigest(Exception):
    """What the server sends is not the file."""


class NoSpace(Exception):
    """The disk has no room for the file."""


class _SameSecurity(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to http, and tells another host no password."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise Unreachable(f"{req.full_url} redirects to plain http ({newurl}); it is not followed", code)
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            following.remove_header("Authorization")
        return following


def forgeable(url: str) -> bool:
    """Whether somebody on the way could change what the address gives, and read what it is asked with."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def text(url: str, accept: str = "*/*", waits: tuple[int, ...] = WAITS) -> bytes:
    """Return a small file whole. Unreachable says what is in the way."""

    def read() -> bytes:
        with _open(url, {"Accept": accept}) as answer:
            content = answer.read(LARGEST_TEXT + 1)
            if len(content) > LARGEST_TEXT:
                raise Unreachable(f"{url}: more than {LARGEST_TEXT >> 20} MiB; that is no checksum file", 200)
            return content

    return _again(url, read, waits)


def fetch(url: str, place: Path, digest: str | None, heard: Heard = lambda done, total: None) -> str:
    """Make `place` the file at the URL; return its digest, of the algorithm of `digest` (None: any file, sha256).

    A part stays beside it (.part) when the way breaks; a call with a digest goes on there. WrongDigest, Unreachable
    and NoSpace leave `place` as it was.
    """
    algorithm = digest.partition(":")[0] if digest else "sha256"
    part = place.with_name(f"{place.name}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
    if digest is None:  # nothing would tell that an older part is of another file
        part.unlink(missing_ok=True)
    while True:
        resumed = part.exists() and part.stat().st_size > 0
        _again(url, lambda: _more(url, part, heard))
        found = digest_of(part, algorithm)
        if digest in (None, found):
            part.replace(place)
            return found
        part.unlink()
        if not resumed:  # else the part may be of another file: once more from the first byte
            raise WrongDigest(f"{url} has {found}, and not {digest}; nothing of it was kept")


def digest_of(path: Path, algorithm: str) -> str:
    """<algorithm>:<hex> of a file."""
    hashing = hashlib.new(algorithm)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            hashing.update(block)
    return f"{algorithm}:{hashing.hexdigest()}"


def holds(path: Path, digest: str) -> bool:
    """Whether the file is there and has the digest."""
    return path.is_file() and digest_of(path, digest.partition(":")[0]) == digest


def copy(source: Path, place: Path) -> None:
    """Make `place` the file `source`, whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.part")
    _room(part, source.stat().st_size)
    shutil.copyfile(source, part)
    part.replace(place)


def send(source: Path, url: str, headers: Mapping[str, str]) -> None:
    """PUT a file to a web server. Unreachable says what it answered."""

    def put() -> None:
        with source.open("rb") as file:
            length = {"Content-Length": str(source.stat().st_size), "Content-Type": "application/octet-stream"}
            _open(url, {**headers, **length}, method="PUT", data=file).close()

    _again(url, put)


def remote_digest(url: str, algorithm: str, headers: Mapping[str, str]) -> str:
    """<algorithm>:<hex> of what a URL gives, without keeping it."""

    def read() -> str:
        hashing = hashlib.new(algorithm)
        with _open(url, headers) as answer:
            while block := answer.read(BLOCK):
                hashing.update(block)
        return f"{algorithm}:{hashing.hexdigest()}"

    return _again(url, read)


def _more(url: str, part: Path, heard: Heard) -> None:
    """Fetch what the part lacks."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        answer = _open(url, headers)
    except Unreachable as refusal:
        if refusal.status != 416:  # the part is whole already, or not of this file: the digest decides
            raise
        return
    with answer:
        have = have if answer.status == 206 else 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else None
        _room(part, (total or 0) - have)
        try:
            with part.open("ab" if have else "wb") as file:
                while block := answer.read(BLOCK):
                    file.write(block)
                    have += len(block)
                    heard(have, total)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise NoSpace(f"{part.parent} is full; {have} bytes of {url} are kept there") from None
            raise
    if total is not None and have < total:
        raise Unreachable(f"{url}: the answer ended after {have} of {total} bytes")


def _room(part: Path, wanted: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if wanted > free:
        raise NoSpace(f"{part.parent} has {free >> 20} MiB free, and {wanted >> 20} MiB are to come")


def _open(url: str, headers: Mapping[str, str], method: str = "GET", data: Any = None) -> HTTPResponse:
    if not url.startswith(("http://", "https://")):
        raise Unreachable(f"{url} is no http or https address", 0)
    opener = urllib.request.build_opener(_SameSecurity())
    request = urllib.request.Request(url, data, {"User-Agent": "mullion", **headers}, method=method)  # noqa: S310
    try:
        return opener.open(request, timeout=STALLED_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        raise Unreachable(f"{url}: HTTP status {error.code} {error.reason}", error.code) from None


def _again(url: str, attempt: Callable[[], Any], waits: tuple[int, ...] = WAITS) -> Any:
    for wait in (*waits, None):
        try:
            return attempt()
        except (OSError, HTTPException, Unreachable) as error:
            failure = error if isinstance(error, Unreachable) else Unreachable(f"{url}: {_said(error)}")
            if wait is None or not failure.passes:
                raise failure from None
            time.sleep(wait)
    raise AssertionError(url)


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return str(reason) or type(error).__name__
