"""From the network between API server and kubelets: read what the API server sends, and forge logs."""

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.lab.agent.served import Served

pytestmark = pytest.mark.lab

POD = "/api/v1/namespaces/default/pods"
CONTAINER = {"name": "app", "image": "app", "command": ["app"]}


class Kubelet(BaseHTTPRequestHandler):
    """Answers every request like a kubelet that has the log of the container."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the log of the container\n")

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def own_address() -> str:
    """Return this machine's address: the API server refuses loopback addresses of kubelets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


@contextmanager
def answering(folder: Path, address: str, signer: Path | None) -> Iterator[ThreadingHTTPServer]:
    """Run a kubelet's server; its certificate is signed by signer (folder of ca.crt and ca.key), or by itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "system:node:web-0")])
    authority = x509.load_pem_x509_certificate((signer / "ca.crt").read_bytes()) if signer else None
    signing: Any = serialization.load_pem_private_key((signer / "ca.key").read_bytes(), None) if signer else key
    build = x509.CertificateBuilder(authority.subject if authority else name, name, key.public_key())
    build = build.serial_number(x509.random_serial_number())
    build = build.not_valid_before(now - datetime.timedelta(minutes=5))
    build = build.not_valid_after(now + datetime.timedelta(hours=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    certificate = build.add_extension(names, critical=False).sign(signing, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = folder / "kubelet.pem"
    pem.write_bytes(certificate.public_bytes(encoding) + private)
    server = ThreadingHTTPServer((address, 0), Kubelet)
    server.asked = []  # type: ignore[attr-defined]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def placed(served: Served, api: Any, address: str, port: int) -> None:
    """Set the Node's address and port, and create a pod on it."""
    status = {"addresses": [{"type": "InternalIP", "address": address}]}
    status |= {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    if not api.find("/api/v1/nodes/attacked"):
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": "attacked"}})
        account = {"metadata": {"name": "default"}}
        if not api.find("/api/v1/namespaces/default/serviceaccounts/default"):
            api.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        pod = {"metadata": {"name": "app"}, "spec": {"nodeName": "attacked", "containers": [CONTAINER]}}
        api.call("POST", POD, pod)
    api.call("PATCH", "/api/v1/nodes/attacked/status", {"status": status}, "application/merge-patch+json")


def test_the_api_server_sends_nothing_to_a_kubelet_with_a_foreign_certificate(
    served: Served, api: Any, tmp_path: Path
) -> None:
    """Answer exec, logs and port-forward at a node's address with a certificate of another authority.

    Refused by: the API server, by --kubelet-certificate-authority.
    Seen in: the standard error of `kubectl`: `certificate signed by unknown authority`.
    """
    address, logs = own_address(), f"{POD}/app/log"
    with answering(tmp_path, address, served.pki) as kubelet:
        placed(served, api, address, kubelet.server_port)
        assert served.kubectl("get", "--raw", logs) == "the log of the container\n", "a kubelet of the cluster answers"
    with answering(tmp_path, address, None) as kubelet:
        placed(served, api, address, kubelet.server_port)
        for words in (("logs", "app"), ("exec", "app", "--", "app"), ("port-forward", "pod/app", "0:80")):
            assert not served.kubectl(*words, check=False)
        assert kubelet.asked == []  # type: ignore[attr-defined]
        with pytest.raises(Exception, match="certificate signed by unknown authority"):
            api.call("GET", logs)
        assert "certificate signed by unknown authority" in served.kubectl_said("logs", "app")
