"""Authorities before and after a rotation, certificates that they signed, and kubeconfigs that trust them."""

import base64
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine import pki
from tests.certificates import signed

OLD = pki.certificate_authority("kubernetes")
NEW = pki.certificate_authority("kubernetes-1")
CROSS = pki.cross_signed(NEW, OLD)
CONF = "etc/kubernetes/kubelet.conf"
RESTART = ["systemctl", "try-restart", "kubelet.service"]


def leaf(authority: pki.KeyPair, name: str = "kube-apiserver") -> pki.KeyPair:
    """Return a certificate for 127.0.0.1 that the authority signed."""
    by = x509.load_pem_x509_certificate(authority["certificate"].encode())
    key = serialization.load_pem_private_key(authority["key"].encode(), None)
    own = ec.generate_private_key(ec.SECP256R1())
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    known = by.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    build = (
        x509.CertificateBuilder(
            by.subject, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), own.public_key()
        )
        .serial_number(x509.random_serial_number())
        .not_valid_before(by.not_valid_before_utc)
        .not_valid_after(by.not_valid_after_utc)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    pem = signed(build, key).public_bytes(serialization.Encoding.PEM).decode()
    return {"certificate": pem, "key": own.private_bytes(*form).decode()}


def kubeconfig(*authorities: str, **user: str) -> str:
    """Return a kubeconfig as kubeadm writes it."""
    embedded = {"certificate-authority-data": "".join(authorities), **user}
    lines = [f"    {name}: {base64.b64encode(value.encode()).decode()}\n" for name, value in embedded.items()]
    return "clusters:\n- cluster:\n" + "".join(lines) + "    server: https://127.0.0.1:6443\n"
