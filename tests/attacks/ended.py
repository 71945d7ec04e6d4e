"""A kubelet's client certificate as it is once its time is over."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import Encoding


def ended(pki: Path, valid: Path) -> bytes:
    """Return a certificate with subject and key of a valid one, by the cluster's authority, that ended a minute ago."""
    before, now = x509.load_pem_x509_certificate(valid.read_bytes()), datetime.now(timezone.utc)
    key: Any = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), None)
    build = x509.CertificateBuilder(before.issuer, before.subject, before.public_key(), x509.random_serial_number())
    build = build.not_valid_before(now - timedelta(days=1)).not_valid_after(now - timedelta(minutes=1))
    for extension in before.extensions:
        build = build.add_extension(extension.value, extension.critical)
    return build.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
