"""A web proxy that leads every host to the services of one sandbox, with http and, through CONNECT, with https."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tests.conformance import authority


class Proxy(BaseHTTPRequestHandler):
    """One connection of a program."""

    protocol_version = "HTTP/1.1"
    services: ClassVar[str]
    """Address and port of the sandbox's services, which route by the Host header."""
    context: ClassVar[ssl.SSLContext]

    def do_CONNECT(self) -> None:
        """Answer as the https server of the host: the next requests come through TLS."""
        self.send_response(200)
        self.end_headers()
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_GET(self) -> None:
        """Pass a request on, in the absolute form of proxies or in that of servers."""
        parts = urlsplit(self.path)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        near = HTTPConnection(self.services, timeout=60)
        near.request(self.command, path, body, headers)
        with near.getresponse() as answer:
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "connection", "date", "server"):
                    self.send_header(name, value)
        near.close()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def finish(self) -> None:
        """Close the TLS connection too, of which the server knows nothing."""
        super().finish()
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def proxy(services: str) -> Iterator[str]:
    """Yield the URL of a proxy to the services at a URL."""
    kind = {"services": urlsplit(services).netloc, "context": authority.server_context()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneProxy", (Proxy,), kind))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
