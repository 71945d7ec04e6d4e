"""The mirror in a booted cluster's network, over HTTP: downloads of some versions, and a registry of their images."""

import os
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from sandbox.boot.registry import START, Registry

PORT = 8080
DOWNLOADS, IMAGES = "mirror", "containerd"
"""Folders of a version's: its downloads, and a /var/lib/containerd that has its images."""


class _Quiet(SimpleHTTPRequestHandler):
    """Says nothing."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *words: Any, folders: Sequence[Path], registry: Registry) -> None:
        self._folders, self._registry = folders, registry
        super().__init__(*words)

    def log_message(self, format: str, *args: Any) -> None:
        """The machines' own logs have it."""

    def list_directory(self, path: Any) -> None:
        """A mirror has files only."""
        self.send_error(404)

    def translate_path(self, path: str) -> str:
        """The file in the first folder that has it."""
        found = ""
        for each in self._folders:
            self.directory = os.fspath(each)
            found = super().translate_path(path)
            if Path(found).is_file():
                break
        return found

    def send_head(self) -> Any:
        """Headers of a download, or of what a registry has."""
        return self._pulled() if self.path.startswith(START) else super().send_head()

    def _pulled(self) -> BinaryIO | None:
        found = self._registry.find(self.path)
        if found is None:
            self.send_error(404)
            return None
        self.send_response(200)
        self.send_header("Content-Type", found.type)
        self.send_header("Content-Length", str(found.file.stat().st_size))
        self.send_header("Docker-Content-Digest", found.digest)
        self.end_headers()
        return found.file.open("rb")


def server(address: str, made: Sequence[Path], port: int = PORT) -> ThreadingHTTPServer:
    """A server that listens in the network of the caller's thread, and serves once it is started.

    made: folders of versions; of two that have one thing the first counts.
    """
    registry = Registry([each / IMAGES for each in made])
    handler = partial(_Quiet, folders=[each / DOWNLOADS for each in made], registry=registry)
    return ThreadingHTTPServer((address, port), handler)
