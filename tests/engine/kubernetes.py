"""A fake Kubernetes API for drains, on loopback: requires the client certificate and honours PodDisruptionBudgets."""

import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine.pki import KeyPair


@dataclass
class Cluster:
    """Nodes, pods and recorded calls. refusals: how many more evictions of a pod its PodDisruptionBudget refuses."""

    nodes: dict[str, bool] = field(default_factory=dict)
    """Whether a Node is Ready, by name."""
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """`cordon NODE` and `evict POD` calls, in order; refused evictions included."""

    def add(self, name: str, node: str, owner: str = "ReplicaSet", refusals: int = 0) -> None:
        """Put a pod on a node."""
        metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"{name}-{node}"}
        metadata["ownerReferences"] = [{"kind": owner}]
        self.pods[name] = {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running"}}
        self.refusals[name] = refusals

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return status code and document of a call."""
        parts = urlsplit(path)
        query = {key: unquote(value[0]) for key, value in parse_qs(parts.query).items()}
        if parts.path == "/apis/policy/v1":
            return 200, {"kind": "APIResourceList"}
        if parts.path == "/api/v1/nodes":
            return 200, {"items": [_node(*each) for each in self.nodes.items()]}
        if parts.path == "/api/v1/pods":
            node = query["fieldSelector"].removeprefix("spec.nodeName=")
            return 200, {"items": [each for each in self.pods.values() if each["spec"]["nodeName"] == node]}
        if found := re.fullmatch(r"/api/v1/nodes/(.+)", parts.path):
            if method == "GET":
                return 200, _node(found[1], self.nodes[found[1]])
            if found[1] not in self.nodes:
                return 404, {"message": f'nodes "{found[1]}" not found'}
            assert body == {"spec": {"unschedulable": True}}
            self.asked.append(f"cordon {found[1]}")
            return 200, _node(found[1], self.nodes[found[1]])
        if found := re.fullmatch(r"/api/v1/namespaces/default/pods/(.+)/eviction", parts.path):
            return self._evict(found[1], body)
        return 500, {"message": f"not known here: {method} {path}"}

    def _evict(self, pod: str, body: Any) -> tuple[int, Any]:
        self.asked.append(f"evict {pod}")
        assert body["apiVersion"] == "policy/v1"
        assert body["deleteOptions"]["preconditions"]["uid"] == self.pods[pod]["metadata"]["uid"]
        if self.refusals[pod]:
            self.refusals[pod] -= 1
            return 429, {"message": "Cannot evict pod as it would violate the pod's disruption budget."}
        del self.pods[pod]
        return 201, {"kind": "Status"}


def _node(name: str, ready: bool) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": str(ready)}]}}


@contextmanager
def serve(cluster: Cluster, host: str, authority: KeyPair, folder: Path) -> Iterator[int]:
    """Serve the API under this name with a certificate of the authority, for its clients only. Gives the port."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            status, document = cluster.answer(self.command, self.path, json.loads(self.rfile.read(length) or "null"))
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _answer

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(host, authority, folder))
    context.load_verify_locations(cadata=authority["certificate"])
    context.verify_mode = ssl.CERT_REQUIRED
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def certificate(host: str, authority: KeyPair, folder: Path) -> Path:
    """Return a file with a key and a server certificate for this name, signed by the authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(authority["certificate"].encode())
    signer = serialization.load_pem_private_key(authority["key"].encode(), None)
    begin = datetime.now(timezone.utc) - timedelta(minutes=5)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(signer, hashes.SHA256())  # type: ignore[arg-type]
    )
    path = folder / "kube-apiserver.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def resolve(monkeypatch: pytest.MonkeyPatch, host: str, port: int) -> None:
    """Resolve a name to loopback and this port in this process."""
    real = socket.getaddrinfo

    def found(name: Any, service: Any, *arguments: Any, **options: Any) -> Any:
        return real(*(("127.0.0.1", port) if name == host else (name, service)), *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found)
