"""The mirror of a booted cluster's network (HTTP): downloads of some versions, and a registry of their images."""

import os
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from sandbox.boot.registry import START, Registry

PORT = 8080
DOWNLOADS, IMAGES = "mirror", "containerd"
"""Folders of a version: its downloads, and a /var/lib/containerd with its images."""


class _Quiet(SimpleHTTPRequestHandler):
    """Request handler without logs."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *words: Any, folders: Sequence[Path], registry: Registry) -> None:
        self._folders, self._registry = folders, registry
        super().__init__(*words)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the machines log their downloads."""

    def list_directory(self, path: Any) -> None:
        """Answer 404: a mirror has files only."""
        self.send_error(404)

    def translate_path(self, path: str) -> str:
        """Return the file of the first folder that has it."""
        file = ""
        for folder in self._folders:
            self.directory = os.fspath(folder)
            file = super().translate_path(path)
            if Path(file).is_file():
                break
        return file

    def send_head(self) -> Any:
        """Send the headers of a download or of a registry's blob."""
        return self._send_blob() if self.path.startswith(START) else super().send_head()

    def _send_blob(self) -> BinaryIO | None:
        blob = self._registry.find(self.path)
        if blob is None:
            self.send_error(404)
            return None
        self.send_response(200)
        self.send_header("Content-Type", blob.type)
        self.send_header("Content-Length", str(blob.file.stat().st_size))
        self.send_header("Docker-Content-Digest", blob.digest)
        self.end_headers()
        return blob.file.open("rb")


def server(address: str, folders: Sequence[Path], port: int = PORT) -> ThreadingHTTPServer:
    """Return a server that listens in the network namespace of the caller's thread; the caller starts it.

    folders: one per version; the first folder that has a file or image serves it.
    """
    registry = Registry([folder / IMAGES for folder in folders])
    handler = partial(_Quiet, folders=[folder / DOWNLOADS for folder in folders], registry=registry)
    return ThreadingHTTPServer((address, port), handler)
