"""A registry on loopback: manifests by name and tag, with a token server if it is private."""

import base64
import hashlib
import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.conformance.authority import authority, node_pem, pem

USER, PASSWORD, TOKEN = "robot", "hunter2-very-secret", "eyJhbGciOi.token-very-secret"
SIGNED_IN = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
INDEX = "application/vnd.oci.image.index.v1+json"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def manifest_list(*platforms: tuple[str, str], media_type: str = LIST) -> bytes:
    """Return a manifest list for these (os, architecture), with attestations as in lists of registry.k8s.io."""
    listed = [
        {
            "mediaType": MANIFEST,
            "size": 527,
            "digest": f"sha256:{hashlib.sha256(f'{os}/{architecture}'.encode()).hexdigest()}",
            "platform": {"architecture": architecture, "os": os},
        }
        for os, architecture in platforms
    ]
    attestation = {"mediaType": MANIFEST, "size": 1, "digest": f"sha256:{'a' * 64}"}
    return json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": [*listed, attestation]}).encode()


BOTH = manifest_list(("linux", "amd64"), ("linux", "arm64"), ("windows", "amd64"))


@dataclass
class Registry:
    """Manifests that the registry serves, its demand for credentials, and the requests it received."""

    url: str = ""
    manifests: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Manifest by path:tag."""
    everything: bytes | None = None
    """Manifest served for every name that `manifests` lacks; None: 404."""
    private: str = ""
    """Scheme of the challenge: Bearer, Basic, or "" for none."""
    realm: str = ""
    """Address of the token server; empty: this registry."""
    moved: str = ""
    """Address of the server to which every request is redirected."""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path with query, and the header Authorization, of each request."""

    def answer(self, path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append((path, authorization))
        parts = urlsplit(path)
        if self.moved:
            return 307, {"Location": f"{self.moved}{path}"}, b""
        if parts.path == "/token":
            allowed = authorization == f"Basic {SIGNED_IN}" and "scope" in parse_qs(parts.query)
            return (200, {}, json.dumps({"token": TOKEN}).encode()) if allowed else (401, {}, b"")
        wanted = {"Bearer": f"Bearer {TOKEN}", "Basic": f"Basic {SIGNED_IN}", "": authorization}[self.private]
        if authorization != wanted:
            realm = self.realm or f"{self.url}/token"
            challenge = {"Bearer": f'Bearer realm="{realm}",service="here"', "Basic": 'Basic realm="here"'}
            return 401, {"WWW-Authenticate": challenge[self.private]}, b"{}"
        name, _, tag = parts.path.removeprefix("/v2/").replace("/blobs/", "/manifests/").partition("/manifests/")
        content = self.manifests.get(f"{name}:{tag}", self.everything)
        if content is None:
            return 404, {}, b"{}"
        return 200, {"Content-Type": _media_type(content)}, content


def _media_type(content: bytes) -> str:
    found = re.search(rb'"schemaVersion": 2, "mediaType": "([^"]+)"', content)
    return found[1].decode() if found else "application/octet-stream"


OWN = dict.fromkeys(("registry.k8s.io", "ghcr.io", "docker.io", "mcr.microsoft.com"), "localhost:1")
"""Replacement of registry.HOSTS for tests: a closed port, so that only mirrors answer."""


def trusted(folder: Path) -> Path:
    """Write server.pem, a certificate for localhost with its key; return the file of its authority."""
    (folder / "server.pem").write_text(node_pem("good"))
    (folder / "authority.pem").write_text(pem(authority()))
    return folder / "authority.pem"


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[Registry]:
    """Start a registry on loopback. certificate: file with certificate and key for https; None means http."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, content = registry.answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    registry.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
