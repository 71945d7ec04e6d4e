"""Servers on loopback that answer with JSON of neither a portal nor an API server, and kubeconfigs for them."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from components.machine import pki
from tests.engine.kubernetes import certificate

NAME = "strange"
ANSWERS = (
    *(b"{}", b"[]", b"null", b"3", b'"x"', b"[{}]", b"[null]", b"[[]]", b"<html>", b"\xff", b"1e999"),
    *(b'{"items": [{}]}', b'{"items": [null]}', b'{"items": null}', b'{"detail": [1]}', b'{"name": 1, "job": []}'),
    *(b'{"data": {"x": 1}}', b'{"spec": [], "status": "x"}', b'{"gitVersion": "x", "major": []}'),
)
STATUSES = (200, 200, 200, 200, 200, 201, 302, 403, 404, 500)


def closed_port() -> int:
    """A port of this host on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@cache
def authority() -> pki.KeyPair:
    """Return the CA of the server with TLS."""
    return pki.certificate_authority(NAME)


class Site(NamedTuple):
    """Values of the placeholders in arguments."""

    folder: Path
    port: int
    garbage: str
    portal: str
    kubeconfig: str


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # the same request always gets the same answer; the first part of the path makes it another one
        number = crc32(f"{self.command} {self.path.partition('?')[0]}".encode())
        content = ANSWERS[number % len(ANSWERS)]
        self.send_response(STATUSES[number // len(ANSWERS) % len(STATUSES)])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def strange(folder: Path, *, tls: bool = False) -> Iterator[int]:
    """Start such a server on loopback; yield its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate(NAME, authority(), folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def kubeconfig(port: int, prefix: str = "") -> str:
    """Return an administrator's kubeconfig for a server on loopback. prefix: first part of each path."""
    administrator = pki.administrator_certificate(authority(), NAME)
    address = f"https://127.0.0.1:{port}{prefix}"
    return pki.administrator_kubeconfig(NAME, address, NAME, authority()["certificate"], administrator)
