"""Downloads over http and https: resumed, retried, and stored under their final name only with the right digest.

Proxies come from the environment (http_proxy, https_proxy, no_proxy), certificate authorities from the system
(SSL_CERT_FILE).
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
"""Seconds without a byte after which a server counts as stalled."""
WAITS = (1, 3, 9)
"""Seconds before each retry."""
TEXT_SECONDS = 120
"""Longest time for a small file with its retries, in seconds; a server that sends byte after byte never stalls."""
LARGEST_TEXT = 4 << 20
"""Largest size of a small file (checksums, a registry's manifest or token), in bytes."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts whose traffic does not leave this machine, so it cannot be forged."""

Heard = Callable[[int, int | None], None]
"""Called with the bytes fetched so far, and the total or None if unknown."""


class Unreachable(Exception):
    """The server gave no complete answer.

    status: HTTP status of the answer; None without an answer. challenge: its header WWW-Authenticate; empty if it has
    none, or if it came from another host after a redirect.
    """

    def __init__(self, message: str, status: int | None = None, challenge: str = "") -> None:
        super().__init__(message)
        self.status, self.challenge = status, challenge

    @property
    def passes(self) -> bool:
        """Whether a retry may succeed."""
        return self.status is None or self.status >= 500 or self.status in (408, 429)


class WrongDigest(Exception):
    """The server's file has another digest."""


class NoSpace(Exception):
    """The disk has no room for the file."""


def forgeable(url: str) -> bool:
    """Return whether the URL is plain http to another host: others on the network can read and change the traffic."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def text(
    url: str, accept: str = "*/*", waits: tuple[int, ...] = WAITS, headers: Mapping[str, str] | None = None
) -> bytes:
    """Return the content of a small file. Raises Unreachable with the reason, also after TEXT_SECONDS."""
    end = time.monotonic() + TEXT_SECONDS

    def read() -> bytes:
        with _open(url, {"Accept": accept, **(headers or {})}) as answer:
            content = bytearray()
            for block in answer.iter_raw():
                content += block
                if time.monotonic() > end:
                    raise Unreachable(f"{url}: it is not complete after {TEXT_SECONDS} s", 0)
                if len(content) > LARGEST_TEXT:
                    raise Unreachable(f"{url}: more than {LARGEST_TEXT >> 20} MiB; that is not a checksum file", 200)
            return bytes(content)

    return _again(url, read, waits)


def fetch(url: str, place: Path, digest: str | None, heard: Heard = lambda done, total: None) -> str:
    """Fetch a URL into the file `place`; return its digest, with the algorithm of `digest` (None: any file, sha256).

    An interrupted download stays next to it (.part), and a call with a digest resumes it. Raises WrongDigest,
    Unreachable or NoSpace, and then leaves `place` unchanged.
    """
    algorithm = digest.partition(":")[0] if digest else "sha256"
    part = place.with_name(f"{place.name}.part")
    place.parent.mkdir(parents=True, exist_ok=True)
    if digest is None:  # without a digest, a part of another file would not be noticed
        part.unlink(missing_ok=True)
    while True:
        resumed = part.exists() and part.stat().st_size > 0
        _again(url, lambda: _more(url, part, heard))
        found = digest_of(part, algorithm)
        if digest in (None, found):
            part.replace(place)
            return found
        part.unlink()
        if not resumed:  # a resumed part may be of another file: start again at the first byte
            raise WrongDigest(f"{url} has the digest {found}, not {digest}; the file was deleted")


def digest_of(path: Path, algorithm: str) -> str:
    """Return the digest of a file as <algorithm>:<hex>."""
    hashing = hashlib.new(algorithm)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            hashing.update(block)
    return f"{algorithm}:{hashing.hexdigest()}"


def holds(path: Path, digest: str) -> bool:
    """Return whether the file exists and has the digest."""
    return path.is_file() and digest_of(path, digest.partition(":")[0]) == digest


def copy(source: Path, place: Path) -> None:
    """Copy `source` to `place`, whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.part")
    _room(part, source.stat().st_size)
    shutil.copyfile(source, part)
    part.replace(place)


def send(source: Path, url: str, headers: Mapping[str, str]) -> None:
    """PUT a file to a web server. Raises Unreachable with its answer."""

    def put() -> None:
        sent = {**headers, "Content-Type": "application/octet-stream"}
        with source.open("rb") as file, _open(url, sent, method="PUT", content=file):
            pass

    _again(url, put)


def remote_digest(url: str, algorithm: str, headers: Mapping[str, str]) -> str:
    """Return the digest of a URL's content as <algorithm>:<hex>, without storing it."""

    def read() -> str:
        hashing = hashlib.new(algorithm)
        with _open(url, headers) as answer:
            for block in answer.iter_raw():
                hashing.update(block)
        return f"{algorithm}:{hashing.hexdigest()}"

    return _again(url, read)


def _more(url: str, part: Path, heard: Heard) -> None:
    """Fetch the rest of a partial file."""
    have = part.stat().st_size if part.exists() else 0
    try:
        with _open(url, {"Range": f"bytes={have}-"} if have else {}) as answer:
            _append(answer, url, part, have if answer.status_code == httpx.codes.PARTIAL_CONTENT else 0, heard)
    except Unreachable as refusal:
        # the part is complete, or it is of another file: the digest tells
        if refusal.status != httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise


def _append(answer: httpx.Response, url: str, part: Path, have: int, heard: Heard) -> None:
    """Append the answer after the first `have` bytes of the part. Raises NoSpace if the disk is full."""
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
        raise NoSpace(f"{part.parent} has {free >> 20} MiB free, but {wanted >> 20} MiB are needed")


@contextmanager
def _open(url: str, headers: Mapping[str, str], method: str = "GET", content: Any = None) -> Iterator[httpx.Response]:
    """Yield the answer to a request before its body is read. Raises Unreachable unless its status is a success.

    GET follows redirects, without `Authorization` to another host, and never from https to http.
    """
    if not url.startswith(("http://", "https://")):
        raise Unreachable(f"{url} is not an http or https URL", 0)
    sent = {"User-Agent": "mullion", "Accept-Encoding": "identity", **headers}
    with _client() as client:
        try:
            request = client.build_request(method, url, headers=sent, content=content)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{url}: {error}", 0) from None
        answer = client.send(request, stream=True, follow_redirects=method == "GET")
        try:
            if not answer.is_success:
                why, own = f"HTTP status {answer.status_code}", answer.url.netloc == request.url.netloc
                challenge = answer.headers.get("WWW-Authenticate", "") if own else ""
                raise Unreachable(f"{url}: {why} {answer.reason_phrase}", answer.status_code, challenge)
            yield answer
        finally:
            answer.close()


def _client() -> httpx.Client:
    try:
        return httpx.Client(
            timeout=STALLED_SECONDS,
            verify=ssl.create_default_context(),  # the system's authorities instead of httpx's own
            event_hooks={"response": [_refuse_downgrade]},
        )
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise Unreachable(f"the proxy in the environment cannot be used: {error}", 0) from None


def _refuse_downgrade(answer: httpx.Response) -> None:
    """Raise Unreachable if the answer redirects from https to http."""
    if not answer.has_redirect_location or answer.url.scheme != "https":
        return
    following = answer.url.join(answer.headers["Location"])
    if following.scheme != "https":
        raise Unreachable(
            f"{answer.url} redirects to plain http ({following}); the redirect is not followed", answer.status_code
        )


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
