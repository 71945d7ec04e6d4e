"""A kubelet's certificate in two forms: other bytes, and so another sha256, with the same valid signature."""

import base64
import textwrap
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.lab.agent.served import Served


def two_forms(served: Served, name: str, folder: Path) -> list[dict[str, Any]]:
    """Return both forms of a new certificate of the cluster's authority as identities, with the same key.

    The API server reads a signature (BIT STRING) from the right. One whose first bit is 0 has another form: moved to
    the left by a bit, with one unused bit at its end. Signatures of EC authorities, such as Mullion's, have others.
    """
    authority = x509.load_pem_x509_certificate((served.pki / "ca.crt").read_bytes())
    key = load_pem_private_key((served.pki / "ca.key").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    subject = ((NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{name}"))
    now = datetime.now(timezone.utc)
    build = x509.CertificateBuilder().issuer_name(authority.subject).public_key(served.client_key.public_key())
    build = build.subject_name(x509.Name([x509.NameAttribute(*each) for each in subject]))
    build = build.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=23))
    build = build.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    tries = (build.serial_number(x509.random_serial_number()).sign(key, hashes.SHA256()) for _ in range(64))
    made = next(each for each in tries if each.signature[0] < 0x80)
    whole, length = made.public_bytes(Encoding.DER), len(made.signature)
    assert whole.endswith(b"\x00" + made.signature), "no bit is unused"
    moved = (int.from_bytes(made.signature, "big") << 1).to_bytes(length, "big")
    (folder / "key").write_bytes(served.client_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for form, content in (("first", whole), ("other", whole[: -length - 1] + b"\x01" + moved)):
        text = textwrap.fill(base64.b64encode(content).decode(), 64)
        (folder / form).write_text(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    return [{"certificate": folder / form, "key": folder / "key"} for form in ("first", "other")]
