"""Certificates in a PEM text: the properties that checks and plans need."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Certificate:
    """One X.509 certificate."""

    subject: str
    """RFC 4514: CN=Example Authority,O=Example."""
    sha1: str
    """Thumbprint, 40 hex digits, which is the certificate's name on Windows."""
    pem: str
    der: bytes
    is_authority: bool
    """Whether it can sign other certificates (basicConstraints CA)."""
    until: datetime
    """End of its validity, UTC."""


def read(text: str) -> tuple[Certificate, ...]:
    """Return all certificates of the text, in its order. Raises ValueError if there is none, or one cannot be read."""
    # imported here because a plan without certificates must not wait for the library
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
            certificate.subject.rfc4514_string(),
            certificate.fingerprint(SHA1()).hex(),  # noqa: S303 # nosec B303 # it names the certificate and proves nothing
            certificate.public_bytes(Encoding.PEM).decode(),
            certificate.public_bytes(Encoding.DER),
            is_authority(certificate),
            certificate.not_valid_after_utc,
        )
        for certificate in x509.load_pem_x509_certificates(text.encode())
    )
