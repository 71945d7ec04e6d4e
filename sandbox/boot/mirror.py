"""The mirror of downloads in a booted cluster's network: a folder's files over HTTP."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 8080


class _Quiet(SimpleHTTPRequestHandler):
    """Says nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """The machines' own logs have it."""

    def list_directory(self, path: Any) -> None:
        """A mirror has files only."""
        self.send_error(404)


def server(address: str, folder: Path) -> ThreadingHTTPServer:
    """A server that listens in the network of the caller's thread, and serves once it is started."""
    return ThreadingHTTPServer((address, PORT), partial(_Quiet, directory=str(folder)))
