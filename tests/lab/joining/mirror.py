"""What a Windows worker downloads: archives laid out as the publishers lay theirs out, under digests of the lab.

Programs that can live on the lab's Windows machines are the real ones; the others are stand-ins under the same names.
"""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from components import artifacts
from components.node import downloads
from components.node.role import Role
from tests.windows_node.publisher import FOLDERS, content

PORT = 8080

REAL = frozenset({"kubelet", "kube-log-runner", "kubectl", "host-local", "win-overlay", "win-bridge"})
"""kube-proxy.exe ends once it has read its configuration, as Wine has no HNS; a test lets the real one do so."""

Find = Callable[[str], Path]
"""The built program of a name."""


@dataclass(frozen=True)
class Mirror:
    """Files by <host>/<path> of their publishers' addresses, and the entries that pin them."""

    files: Mapping[str, bytes]
    entries: list[dict[str, Any]]

    def write_entries(self, path: Path) -> None:
        """What `artifacts: {file}` names."""
        path.write_text(json.dumps(self.entries), encoding="ascii")


NEVER = hashlib.sha256(b"").hexdigest()
"""Of downloads of machines that do not boot here, and that nobody published a digest of."""


def mirror(role: Role, find: Find, standins: Path) -> Mirror:
    """All that a machine of the role downloads."""

    def program(name: str, version: str) -> bytes:
        return find(name).read_bytes() if name in REAL else content(name, version, standins)

    files: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    for wanted in downloads.wanted(role):
        known = artifacts.find(wanted.name, wanted.version, "windows")
        folder, names = FOLDERS.get(wanted.name, ("", ()))
        members = {
            f"{folder.format(version=wanted.version)}{each}.exe": program(each, wanted.version) for each in names
        }
        whole = _packed(known.file_name, members) if members else program(wanted.program or "", wanted.version)
        files[known.url.partition("://")[2]] = whole
        pinned = {"sha256": hashlib.sha256(whole).hexdigest(), "size": len(whole), "source": "the lab"}
        entries.append({"name": known.name, "version": known.version, "os": "windows", "url": known.url, **pinned})
    for known in downloads.needed("lab", role.spec):
        if not known.is_pinned and known.os == "linux":
            pinned = {"name": known.name, "version": known.version, "os": known.os, "url": known.url}
            entries.append({**pinned, "sha256": NEVER, "source": "the lab"})
    return Mirror(files, entries)


def _packed(file_name: str, members: dict[str, bytes]) -> bytes:
    """Not compressed: it is read once, on the same machine."""
    buffer = io.BytesIO()
    if file_name.endswith(".zip"):
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, program in members.items():
                archive.writestr(path, program)
        return buffer.getvalue()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=0, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for path, program in members.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(program), 0o755
            archive.addfile(entry, io.BytesIO(program))
    return buffer.getvalue()


def serve(files: Mapping[str, bytes]) -> ThreadingHTTPServer:
    """Serve them on every address of the network namespace that the calling thread is in."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path.lstrip("/"))
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0", PORT), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
