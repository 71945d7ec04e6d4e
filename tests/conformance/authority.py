"""A certificate authority for https on loopback, which no machine trusts by default."""

import ssl
from datetime import datetime, timedelta, timezone
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.certificates import signed

NAMES = ("localhost", "downloads.example", "shop.azurecr.io")
Pair = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _certificate(
    name: str, issuer: Pair | None, days: int = 30, hosts: tuple[str, ...] = ("127.0.0.1", *NAMES)
) -> Pair:
    """Return a certificate for these hosts, valid for this many days, signed by the issuer; without one a CA."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    build = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer:
        names = [x509.IPAddress(ip_address(each)) if each[0].isdigit() else x509.DNSName(each) for each in hosts]
        build = build.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return signed(build, issuer[1] if issuer else key), key


@cache
def authority() -> Pair:
    """Return the CA of the test server."""
    return _certificate("mullion test authority", None)


def pem(pair: Pair) -> str:
    """Return the certificate as PEM."""
    return pair[0].public_bytes(serialization.Encoding.PEM).decode()


@cache
def node_pem(what: str) -> str:
    """Return a kubelet's certificate with its key, as PEM: of web-0 (good), expired (over), or of another node."""
    name, days = "system:node:" + ("web-9" if what == "other" else "web-0"), -1 if what == "over" else 30
    pair = _certificate(name, authority(), days)
    key = pair[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem(pair) + key.decode()


def other_pem() -> str:
    """Return the PEM of a CA that signed no certificate."""
    return pem(_certificate("another authority", None))


def server_context(what: str = "good") -> ssl.SSLContext:
    """Return the TLS context of an https server on 127.0.0.1 with a certificate of the CA of the test server.

    what: good; over (expired), other (for another host), or foreign (of a CA with the same name and another key).
    """
    issuer = _certificate("mullion test authority", None) if what == "foreign" else authority()
    hosts = ("store.example",) if what == "other" else ("127.0.0.1", *NAMES)
    certificate, key = _certificate("127.0.0.1", issuer, -1 if what == "over" else 30, hosts)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "server.pem"
        file.write_bytes(private + pem((certificate, key)).encode())
        context.load_cert_chain(file)
    return context
