"""An OpenID Connect provider on 127.0.0.1: discovery, keys, and signed tokens."""

import base64
import json
import ssl
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

CLIENT = "kubernetes"


class Issuer:
    """The provider; its TLS certificate is signed by the authority in `pki`."""

    def __init__(self, port: int, pki: Path) -> None:
        self.url, self.port, self.pki = f"https://127.0.0.1:{port}", port, pki
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def start(self) -> None:
        """Answer requests on a thread of this process."""
        documents = {"/.well-known/openid-configuration": self._discovery(), "/keys": {"keys": [self._public()]}}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(documents.get(self.path, {})).encode()
                self.send_response(200 if self.path in documents else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate())
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def token(self, *, key: Any = None, algorithm: str = "RS256", **claims: Any) -> str:
        """Return a token that is valid for ten minutes, with these claims beside or instead of the usual ones."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "sub": "ada", "iat": now - 5, "exp": now + 600}
        parts = ({"alg": algorithm, "kid": "one", "typ": "JWT"}, usual | claims)
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        signature = (key or self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_encoded(signature) if algorithm != 'none' else ''}"

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def _public(self) -> dict[str, str]:
        numbers = self.key.public_key().public_numbers()
        parts = {
            name: _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
            for name, value in (("n", numbers.n), ("e", numbers.e))
        }
        return {"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256", **parts}

    def _certificate(self) -> Path:
        """Write a certificate for 127.0.0.1 with its key; return the file."""
        authority = x509.load_pem_x509_certificate((self.pki / "ca.crt").read_bytes())
        signer: Any = serialization.load_pem_private_key((self.pki / "ca.key").read_bytes(), None)
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        now = datetime.now(timezone.utc)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")]))
            .issuer_name(authority.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        file = self.pki / "issuer.pem"
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(pem + certificate.public_bytes(Encoding.PEM))
        return file


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
