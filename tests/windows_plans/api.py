"""The API server that Windows nodes of these tests join: a stand-in that checks each request.

It knows Nodes, certificate signing requests, Services and endpoint slices. It approves certificate requests as the
control-plane agent would, assigns pod ranges as the controller manager would, and restricts a node's certificate to its
own Node (NodeRestriction). `refused` lists the requests that it refused.
"""

import base64
import json
import re
import ssl
import tempfile
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
LISTED = ("/api/v1/nodes", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/endpoints")
"""Resources that the add-on's RBAC lets nodes list, for flanneld and kube-proxy."""
NODE = re.compile(r"/api/v1/nodes/([a-z0-9.-]+)(/status)?")
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def _name(common: str, *groups: str) -> x509.Name:
    units = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in groups]
    return x509.Name([*units, x509.NameAttribute(NameOID.COMMON_NAME, common)])


@dataclass
class Authority:
    """The cluster's CA."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    certificate: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        """Create the self-signed certificate."""
        builder = self._builder(_name("kubernetes"), self.key.public_key(), _name("kubernetes"))
        self.certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
            self.key, hashes.SHA256()
        )

    @property
    def pem(self) -> str:
        """Return the CA's certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, host: str) -> str:
        """Return certificate and key of the server, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name("kube-apiserver"), key.public_key(), self.certificate.subject)
        certificate = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        signed = certificate.sign(self.key, hashes.SHA256())
        return (private + signed.public_bytes(serialization.Encoding.PEM)).decode()

    def client(self, request: bytes) -> bytes:
        """Return a client certificate for a request (PEM)."""
        asked = x509.load_pem_x509_csr(request)
        builder = self._builder(asked.subject, asked.public_key(), self.certificate.subject)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = builder.add_extension(usage, critical=False).sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)

    def _builder(self, subject: x509.Name, key: Any, issuer: x509.Name) -> x509.CertificateBuilder:
        now = datetime.now(timezone.utc)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
        return (
            builder.serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
        )


class Refused(Exception):
    """Status and reason of a refused request."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Api:
    """The cluster's objects in the API."""

    authority: Authority
    host: str
    tokens: Callable[[], Collection[str]]
    """Returns the bootstrap tokens that exist now."""
    version: str = "1.32.13"
    ranges: dict[str, str] = field(default_factory=dict[str, str])
    """Pod range by node, for nodes that must not get the next free range."""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    requests: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    refused: list[str] = field(default_factory=list[str])
    _next: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self, version: str, ranges: dict[str, str] | None = None) -> None:
        """Start a new cluster of this version, with the same CA."""
        self.version, self.ranges, self._next = version, ranges or {}, 1
        for kept in (self.nodes, self.requests, self.refused):
            kept.clear()

    def start(self, address: str, port: int) -> ThreadingHTTPServer:
        """Serve at this address; the caller shuts the server down."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(self.authority.server(self.host))
            file.flush()
            context.load_cert_chain(file.name)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.authority.pem)
        server = _Server((address, port), type("Handler", (_Handler,), {"api": self}))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def answer(self, method: str, path: str, who: str, body: Any) -> Any:
        """Return the answer to a request. Raises Refused. who: user name, empty for anonymous."""
        with self._lock:
            try:
                return self._answer(method, path.partition("?")[0], who, body)
            except Refused as refused:
                if refused.status not in (404, 409):
                    self.refused.append(f"{method} {path} by {who or 'anonymous'}: {refused}")
                raise

    def _answer(self, method: str, path: str, who: str, body: Any) -> Any:
        if (method, path) == ("GET", "/version"):
            major, minor, _ = self.version.split(".")
            return {"major": major, "minor": minor, "gitVersion": f"v{self.version}"}
        if not who:
            raise Refused(401, "Unauthorized")
        if path.startswith(REQUESTS):
            return self._request(method, path, who, body)
        if not who.startswith("system:node:"):
            raise Refused(403, f"{who} may only ask for a certificate")
        if method == "GET" and path in LISTED:
            items = list(self.nodes.values()) if path.endswith("/nodes") else []
            return {"kind": "List", "apiVersion": "v1", "items": items}
        if (method, path) == ("POST", "/api/v1/nodes"):
            return self._register(body, who)
        if found := NODE.fullmatch(path):
            return self._node(method, found[1], who, body)
        raise Refused(403, "no rule lets a node do that")

    def _request(self, method: str, path: str, who: str, body: Any) -> Any:
        if method == "GET":
            name = path.rpartition("/")[2]
            if name not in self.requests:
                raise Refused(404, "not found")
            return self.requests[name]
        pem = base64.b64decode(body["spec"]["request"])
        subject = x509.load_pem_x509_csr(pem).subject
        common = str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
        groups = [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if body["spec"]["signerName"] != SIGNER or groups != ["system:nodes"]:
            raise Refused(403, f"no certificate for {common} of {groups} by {body['spec']['signerName']}")
        if set(body["spec"]["usages"]) - {"digital signature", "client auth", "key encipherment"}:
            raise Refused(422, f"usages {body['spec']['usages']}")
        if who not in ("bootstrap", common):
            raise Refused(403, f"{who} asks for {common}")
        issued = base64.b64encode(self.authority.client(pem)).decode()
        self.requests[body["metadata"]["name"]] = {**body, "who": who, "status": {"certificate": issued}}
        return self.requests[body["metadata"]["name"]]

    def _register(self, body: dict[str, Any], who: str) -> Any:
        name = body["metadata"]["name"]
        if who != f"system:node:{name}":
            raise Refused(403, f"node {name} is not {who}")
        if name in self.nodes:
            raise Refused(409, f'nodes "{name}" already exists')
        if any(body["spec"].get(each) for each in ("podCIDR", "podCIDRs")):
            raise Refused(403, "a node does not choose its own range")
        body["spec"]["podCIDR"] = self.ranges.get(name) or self._free()
        body["metadata"]["uid"] = f"uid-{name}-{len(self.requests)}"
        self.nodes[name] = body
        return body

    def _free(self) -> str:
        self._next += 1
        return str(list(ip_network("10.244.0.0/16").subnets(new_prefix=24))[self._next])

    def _node(self, method: str, name: str, who: str, body: Any) -> Any:
        if name not in self.nodes:
            raise Refused(404, f'nodes "{name}" not found')
        if method == "GET":
            return self.nodes[name]
        if who != f"system:node:{name}" or method != "PATCH" or "podCIDR" in body.get("spec", {}):
            raise Refused(403, f"{who} may not {method} that of node {name}")
        self.nodes[name] = merged(self.nodes[name], body)
        return self.nodes[name]


def merged(target: Any, patch: Any) -> Any:
    """Return the target with a merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    base = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = merged(base.get(key), value)
    return base


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that trusts another CA ends its handshake, which is no error here."""


class _Handler(BaseHTTPRequestHandler):
    api: Api
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing in tests."""

    def _who(self) -> str:
        header = self.headers.get("Authorization", "")
        if header:
            return "bootstrap" if header.removeprefix("Bearer ") in self.api.tokens() else ""
        shown: Any = self.connection.getpeercert()  # type: ignore[attr-defined]
        names = {key: value for row in (shown or {}).get("subject", ()) for key, value in row}
        return names.get("commonName", "") if names.get("organizationName") == "system:nodes" else ""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = json.loads(self.rfile.read(length)) if length else None
        try:
            status, answer = 200, self.api.answer(self.command, self.path, self._who(), sent)
        except Refused as refused:
            status, answer = refused.status, {"kind": "Status", "code": refused.status, "message": str(refused)}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve
