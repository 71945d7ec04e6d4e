"""Servers of somebody who answers on the network in another server's place, on loopback.

They record each request that reached them, with its headers: what a thief would have.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.conformance import authority
from tests.conformance.downloads import Server

BLOCK = bytes(1 << 16)


class Asking(BaseHTTPRequestHandler):
    """One request to a foreign server."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def say(self, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        """Answer. length: the announced one, if it is not that of the body. headers: with _ for hyphens."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def say_endlessly(self) -> None:
        """Answer with bytes and no length, until the client closes the connection."""
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(BLOCK)


@dataclass
class Foreign:
    """A foreign server: its URL without a final slash, and the requests that it could read."""

    url: str
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list[tuple[str, dict[str, str]]])


@contextmanager
def answering(answer: Callable[[Asking], None], certificate: str = "") -> Iterator[Foreign]:
    """Run a server whose answers `answer` gives; with https if there is a certificate (authority.server_context)."""

    class Handler(Asking):
        def handle_one(self) -> None:
            foreign.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            try:
                answer(self)
            except OSError:
                self.close_connection = True  # the client closed the connection

        do_GET = do_PUT = do_POST = handle_one

    server = Server(("127.0.0.1", 0), Handler)
    foreign = Foreign(f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}")
    if certificate:
        # the connection's own thread does the handshake, so a client that refuses it does not block others
        server.socket = authority.server_context(certificate).wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    with _running(server):
        yield foreign


@contextmanager
def intercepting(certificate: str) -> Iterator[Foreign]:
    """Run a proxy that ends each tunnel itself, with this certificate, and records what it can read then."""

    class Proxy(Asking):
        def do_CONNECT(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                with authority.server_context(certificate).wrap_socket(self.connection, server_side=True) as inside:
                    foreign.asked.append((inside.recv(65536).decode(errors="replace"), {}))
            except OSError:  # the client refused the certificate
                pass
            self.close_connection = True

    with _running(Server(("127.0.0.1", 0), Proxy)) as server:
        foreign = Foreign(f"http://127.0.0.1:{server.server_port}")
        yield foreign


@contextmanager
def _running(server: Server) -> Iterator[Server]:
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def first_line(loader: Path, folder: Path) -> str:
    """Run the loader as a program on a system that trusts the test's authority; return the first line of its log."""
    trusted = folder / "authorities.pem"
    trusted.write_text(authority.pem(authority.authority()))
    words = [sys.executable, "-uB", str(loader)]
    given: dict[str, Any] = {"env": {**os.environ, "SSL_CERT_FILE": str(trusted)}, "text": True}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **given) as run:
        try:
            assert run.stdout
            return run.stdout.readline()
        finally:
            run.kill()
