"""A download server with faults: http by two names, https under its own CA, and a proxy, all on loopback.

Contents, digests and faults come from a case (tests/conformance/case.py). Every request is recorded.
"""

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tests.conformance import authority
from tests.conformance.contents import content
from tests.conformance.state import Fault, Served

SLOW_SECONDS = 0.3
LONGEST_STALL = 60
FAR = "downloads.example"
"""A host name that only the proxy resolves."""


@dataclass
class Asked:
    """One request: the served file's name, the first byte requested, the status, whether it came through the proxy."""

    name: str
    first: int
    status: int
    proxied: bool


@dataclass
class Downloads:
    """The servers of one case, and their requests since the last `forget`."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    served: dict[str, Served] = field(default_factory=dict[str, Served])
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]])
    asked: list[Asked] = field(default_factory=list[Asked])
    urls: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses without a final slash: url, other, tls, far, fartls, proxy."""
    together: int = 0
    """Highest number of parallel answers."""
    on_body: Any = None
    """Called with a file's name when half of its body is sent; the answer waits until it returns."""
    _busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)

    def serve(self, served: dict[str, Served], places: dict[str, str]) -> None:
        """Serve a case's files; `places` are the prefixes of redirects ($url, $other, $tls)."""
        self.served = served
        self.files = {name: content(each) for name, each in served.items()}
        faults = {name: [one for one in each.faults for _ in range(one.times)] for name, each in served.items()}
        self.faults = {name: [_redirected(one, places) for one in each] for name, each in faults.items()}

    def digest(self, algorithm: str, name: str) -> str:
        """Return sha256:<hex> of a served file."""
        return f"{algorithm}:{hashlib.new(algorithm, self.files[name]).hexdigest()}"

    def forget(self) -> None:
        """Reset all counts."""
        self.asked, self.together = [], 0

    def count(self, name: str) -> int:
        """Return the number of requests for a file; `proxy`: of all requests through the proxy."""
        return len([each for each in self.asked if (each.proxied if name == "proxy" else each.name == name)])

    def first_byte(self, name: str) -> int | None:
        """Return the first byte requested by the last request for the file."""
        return next((each.first for each in reversed(self.asked) if each.name == name), None)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count an answer as running."""
        with self._lock:
            self._busy += 1
            self.together = max(self.together, self._busy)
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1


def _redirected(fault: Fault, places: dict[str, str]) -> Fault:
    if fault.redirect is None:
        return fault
    place, _, rest = fault.redirect.removeprefix("$").partition("/")
    return fault.model_copy(update={"redirect": f"{places[place]}/{rest}" if place in places else fault.redirect})


class Answering(BaseHTTPRequestHandler):
    """Handler of one request, direct or through the proxy."""

    downloads: Downloads
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing in tests."""

    def do_GET(self) -> None:
        """Serve the file after its faults."""
        downloads, name = self.downloads, urlsplit(self.path).path[1:]
        proxied = "://" in self.path
        faults = downloads.faults.get(name, [])
        fault = faults.pop(0) if faults else Fault()
        body = fault.other.encode() if fault.other is not None else downloads.files.get(name)
        status = fault.status or (302 if fault.redirect else 200 if body is not None else 404)
        first = self._first(name) if status == 200 else 0
        asked = self._first(name, asked=True)
        with downloads.busy():
            if name in downloads.served and downloads.served[name].slow:
                time.sleep(SLOW_SECONDS)
            if status == 200 and body is not None and first >= len(body) > 0:
                status, body = 416, b""
            status = 206 if status == 200 and first else status
            downloads.asked.append(Asked(name, asked, status, proxied))
            self._answer(status, body[first:] if body and status in (200, 206) else b"", name, first, fault)

    def _first(self, name: str, *, asked: bool = False) -> int:
        """Return the first byte of a Range header: 0 if the file has no ranges, unless `asked` only wants the request's
        value."""
        wanted = self.headers.get("Range", "")
        served = self.downloads.served.get(name)
        if not wanted.startswith("bytes=") or not (asked or (served and served.ranges)):
            return 0
        condition = self.headers.get("If-Range")
        current = condition is None or condition == self._tag(name)
        return int(wanted.removeprefix("bytes=").partition("-")[0] or 0) if asked or current else 0

    def _tag(self, name: str) -> str:
        return f'"{hashlib.sha256(self.downloads.files.get(name, b"")).hexdigest()[:16]}"'

    def _answer(self, status: int, body: bytes, name: str, first: int, fault: Fault) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if fault.redirect:
            self.send_header("Location", fault.redirect)
        if name in self.downloads.served and self.downloads.served[name].ranges:
            self.send_header("Accept-Ranges", "bytes")
        if status in (200, 206):
            self.send_header("ETag", self._tag(name))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{first + len(body)}")
        self.end_headers()
        try:
            self._send(body, name, fault)
        except OSError:
            self.close_connection = True  # the client closed the connection, as some cases want

    def _send(self, body: bytes, name: str, fault: Fault) -> None:
        half = next((each for each in (fault.truncate, fault.stall) if each is not None), None)
        if half is None and self.downloads.on_body is None:
            self.wfile.write(body)
            return
        half = len(body) // 2 if half is None else half
        self.wfile.write(body[:half])
        self.wfile.flush()
        if fault.truncate is not None:
            self.close_connection = True
        elif fault.stall is not None:
            self.downloads.stop.wait(LONGEST_STALL)
            self.close_connection = True
        else:
            self.downloads.on_body(name)
            self.wfile.write(body[half:])

    def do_CONNECT(self) -> None:
        """Tunnel bytes to the https server."""
        self.downloads.asked.append(Asked("", 0, 200, proxied=True))
        with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2])), timeout=LONGEST_STALL) as far:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_carry, args=(far, self.connection), daemon=True)
            back.start()
            _carry(self.connection, far)
            back.join(LONGEST_STALL)
        self.close_connection = True


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while block := source.recv(65536):
            target.sendall(block)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side has closed


class Server(ThreadingHTTPServer):
    """Server that prints no errors of clients that close their connections."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing."""


Result = TypeVar("Result")


def at_once(call: Callable[[], Result]) -> Result:
    """Call it in this thread."""
    return call()


@contextmanager
def serving(address: str = "127.0.0.1", here: Callable[[Callable[[], Any]], Any] = at_once) -> Iterator[Downloads]:
    """Start servers on free ports: plain http (also the proxy) and https. `here` runs the calls that open their
    sockets."""
    downloads = Downloads()
    answering = type("Answer", (Answering,), {"downloads": downloads})
    plain, closed = (here(lambda: Server((address, 0), answering)) for _ in range(2))
    # the connection's own thread does the handshake, so a client that refuses it does not block others
    closed.socket = authority.server_context().wrap_socket(
        closed.socket, server_side=True, do_handshake_on_connect=False
    )
    port = plain.server_port
    downloads.urls = {
        "url": f"http://{address}:{port}",
        "other": f"http://localhost:{port}",
        "proxy": f"http://127.0.0.1:{port}",
        "tls": f"https://127.0.0.1:{closed.server_port}",
        "far": f"http://{FAR}:{port}",
        "fartls": f"https://{FAR}:{closed.server_port}",
    }
    for server in (plain, closed):
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield downloads
    finally:
        downloads.stop.set()
        for server in (plain, closed):
            server.shutdown()
            server.server_close()
