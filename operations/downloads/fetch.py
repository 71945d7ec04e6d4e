"""Downloads over http: resumed, tried again, and under their final name only when the digest is right.

Proxies come from the environment (http_proxy, https_proxy, no_proxy), authorities from the system (SSL_CERT_FILE).
"""

import errno
import hashlib
import shutil
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

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


def forgeable(url: str) -> bool:
    """Whether somebody on the way could change what the address gives, and read what it is asked with."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def text(url: str, accept: str = "*/*", waits: tuple[int, ...] = WAITS) -> bytes:
    """Return a small file whole. Unreachable says what is in the way."""

    def read() -> bytes:
        with _open(url, {"Accept": accept}) as answer:
            content = bytearray()
            for block in answer.iter_raw():
                content += block
                if len(content) > LARGEST_TEXT:
                    raise Unreachable(f"{url}: more than {LARGEST_TEXT >> 20} MiB; that is no checksum file", 200)
            return bytes(content)

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
        sent = {**headers, "Content-Type": "application/octet-stream"}
        with source.open("rb") as file, _open(url, sent, method="PUT", content=file):
            pass

    _again(url, put)


def remote_digest(url: str, algorithm: str, headers: Mapping[str, str]) -> str:
    """<algorithm>:<hex> of what a URL gives, without keeping it."""

    def read() -> str:
        hashing = hashlib.new(algorithm)
        with _open(url, headers) as answer:
            for block in answer.iter_raw():
                hashing.update(block)
        return f"{algorithm}:{hashing.hexdigest()}"

    return _again(url, read)


def _more(url: str, part: Path, heard: Heard) -> None:
    """Fetch what the part lacks."""
    have = part.stat().st_size if part.exists() else 0
    try:
        with _open(url, {"Range": f"bytes={have}-"} if have else {}) as answer:
            _append(answer, url, part, have if answer.status_code == httpx.codes.PARTIAL_CONTENT else 0, heard)
    except Unreachable as refusal:
        # the part is whole already, or not of this file: the digest decides
        if refusal.status != httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise


def _append(answer: httpx.Response, url: str, part: Path, have: int, heard: Heard) -> None:
    """Write the answer behind the first `have` bytes of the part. Raises NoSpace if the disk is full."""
    length = answer.headers.get("Content-Length", "")
    total = have + int(length) if length.isdigit() else None
    _room(part, (total or 0) - have)
    try:
        with part.open("ab" if have else "wb") as file:
            for block in answer.iter_raw():
                file.write(block)
                have += len(block)
                heard(have, total)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise NoSpace(f"{part.parent} is full; {have} bytes of {url} are kept there") from None
        raise


def _room(part: Path, wanted: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if wanted > free:
        raise NoSpace(f"{part.parent} has {free >> 20} MiB free, and {wanted >> 20} MiB are to come")


@contextmanager
def _open(url: str, headers: Mapping[str, str], method: str = "GET", content: Any = None) -> Iterator[httpx.Response]:
    """Give the answer to a request, its body not yet read. Raises Unreachable if its status is no success.

    Redirects of GET are followed, without `Authorization` to another host, and never from https to http.
    """
    if not url.startswith(("http://", "https://")):
        raise Unreachable(f"{url} is no http or https address", 0)
    sent = {"User-Agent": "mullion", "Accept-Encoding": "identity", **headers}
    with _client() as client:
        try:
            request = client.build_request(method, url, headers=sent, content=content)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{url}: {error}", 0) from None
        answer = client.send(request, stream=True, follow_redirects=method == "GET")
        try:
            if not answer.is_success:
                raise Unreachable(f"{url}: HTTP status {answer.status_code} {answer.reason_phrase}", answer.status_code)
            yield answer
        finally:
            answer.close()


def _client() -> httpx.Client:
    try:
        return httpx.Client(
            timeout=STALLED_SECONDS,
            verify=ssl.create_default_context(),  # the system's authorities; httpx has its own otherwise
            event_hooks={"response": [_refuse_downgrade]},
        )
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise Unreachable(f"the proxy that the environment names cannot be used: {error}", 0) from None


def _refuse_downgrade(answer: httpx.Response) -> None:
    """Raise Unreachable if the answer redirects from https to http."""
    if not answer.has_redirect_location or answer.url.scheme != "https":
        return
    following = answer.url.join(answer.headers["Location"])
    if following.scheme != "https":
        raise Unreachable(f"{answer.url} redirects to plain http ({following}); it is not followed", answer.status_code)


def _again(url: str, attempt: Callable[[], Any], waits: tuple[int, ...] = WAITS) -> Any:
    for wait in (*waits, None):
        try:
            return attempt()
        except (OSError, httpx.HTTPError, httpx.InvalidURL, Unreachable) as error:
            failure = error if isinstance(error, Unreachable) else Unreachable(f"{url}: {_said(error)}")
            if wait is None or not failure.passes:
                raise failure from None
            time.sleep(wait)
    raise AssertionError(url)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
