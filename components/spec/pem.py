"""Certificates in a PEM text, as far as checks and plans ask of them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Certificate:
    """One X.509 certificate."""

    subject: str
    """RFC 4514: CN=Example Authority,O=Example."""
    sha1: str
    """Thumbprint, 40 hex digits: Windows names certificates so."""
    pem: str
    der: bytes
    is_authority: bool
    """Whether it may sign others (basicConstraints)."""
    until: datetime
    """Its last moment, in UTC."""


def read(text: str) -> tuple[Certificate, ...]:
    """All certificates of the text, in its order. ValueError where there is none, or one cannot be read."""
    # not at the top: a plan that names no certificate shall not wait for the library
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.serialization import Encoding

    def is_authority(certificate: x509.Certificate) -> bool:
        try:
            return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        except x509.ExtensionNotFound:
            return False

    return tuple(
        Certificate(
            each.subject.rfc4514_string(),
            each.fingerprint(SHA1()).hex(),  # noqa: S303 - a name, not a proof
            each.public_bytes(Encoding.PEM).decode(),
            each.public_bytes(Encoding.DER),
            is_authority(each),
            each.not_valid_after_utc,
        )
        for each in x509.load_pem_x509_certificates(text.encode())
    )
