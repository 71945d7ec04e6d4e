"""Keys and certificates of a cluster, as PEM text.

Pure, apart from randomness and the clock. Certificate authorities and client certificates are
EC P-256 (NIST SP 800-186; kubeadm reads EC authorities since 1.15, kubernetes#76390). The
service-account key is RSA 2048: kubeadm 1.20 and 1.21, and patches of 1.22 to 1.25 before
September 2022, refuse another one when a control plane joins (kubeadm#2756, fixed by
kubernetes#112508).

Private keys are written the way kubeadm itself writes them, so that every version reads them:
`EC PRIVATE KEY` (SEC 1) and `RSA PRIVATE KEY` (PKCS #1). `cryptography` takes 0.1 s to import;
planning does not need it, so nothing that plans imports this module.
"""

import base64
import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, TypedDict

import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""PyYAML's dumper written in C, if it is installed."""

CLOCK_SKEW = timedelta(minutes=5)
"""Certificates are valid from this long before they are made, because a machine's clock may be slow."""

ADMINISTRATOR = "kubernetes-admin"
"""User name in audit logs; kubeadm's own name for the administrator."""

ADMINISTRATORS = "system:masters"
"""The group that kube-apiserver itself lets do everything, in every version, from its first second. kubeadm's group
(kubeadm:cluster-admins, since 1.29) means nothing until `kubeadm init` has bound it; see docs/pki.md."""


class KeyPair(TypedDict):
    """A certificate and its private key, each one PEM block."""

    certificate: str
    key: str


class SigningKey(TypedDict):
    """A private key and its public half (SubjectPublicKeyInfo), each one PEM block."""

    private: str
    public: str


def _private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    traditional = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, traditional, serialization.NoEncryption()).decode()


def _public_pem(key: CertificatePublicKeyTypes) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def _key_usage(*uses: str) -> x509.KeyUsage:
    every = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    every += ("key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
    return x509.KeyUsage(**{each: each in uses for each in every})


def _certificate(subject: x509.Name, key: ec.EllipticCurvePublicKey, not_after: datetime) -> x509.CertificateBuilder:
    """Return a builder with the fields of every certificate: a random serial number, subject, key and period."""
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .subject_name(subject)
        .public_key(key)
        .not_valid_before(datetime.now(timezone.utc) - CLOCK_SKEW)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return {"certificate": certificate.public_bytes(serialization.Encoding.PEM).decode(), "key": _private_pem(key)}


def certificate_authority(common_name: str, years: int = 10) -> KeyPair:
    """Make a self-signed authority. kubeadm's common names are kubernetes, front-proxy-ca and etcd-ca.

    The path length stays open: replacing an authority may need one certificate that the old one signs for the new one.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    usage = _key_usage("digital_signature", "key_cert_sign", "crl_sign")
    certificate = (
        _certificate(name, key.public_key(), datetime.now(timezone.utc) + timedelta(days=365 * years))
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def cross_signed(successor: KeyPair, old: KeyPair) -> str:
    """Return a certificate of the successor's key and name that the old authority signed, valid as long as the old.

    A server that sends it behind its own certificate is accepted by clients that trust the old authority alone.
    """
    to, by = (x509.load_pem_x509_certificate(each["certificate"].encode()) for each in (successor, old))
    key, usage = _authority_key(old, by), _key_usage("digital_signature", "key_cert_sign", "crl_sign")
    identifier = by.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    public = to.public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise TypeError(f"the key of {to.subject.rfc4514_string()} is not an EC key; Mullion makes only these")
    certificate = (
        _certificate(to.subject, public, min(by.not_valid_after_utc, to.not_valid_after_utc))
        .issuer_name(by.subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _authority_key(pair: KeyPair, authority: x509.Certificate) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pair["key"].encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"the key of {authority.subject.rfc4514_string()} is not an EC key; Mullion makes only these")
    return key


def signing_key() -> SigningKey:
    """Make a key that signs service-account tokens, for kubeadm's sa.key and sa.pub."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {"private": _private_pem(key), "public": _public_pem(key.public_key())}


def encryption_key() -> str:
    """Make 32 random bytes in base64: a secretbox (or AES-256) key as EncryptionConfiguration takes it."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def hmac_key() -> str:
    """Make 32 random bytes in base64: as long as the output of HMAC-SHA-256, as RFC 2104 advises."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def administrator_certificate(ca: KeyPair, cluster: str, days: int = 30) -> KeyPair:
    """Issue an administrator's client certificate, valid for `days` but not longer than the authority.

    The cluster's name in OU is for people.
    """
    key, life = ec.generate_private_key(ec.SECP256R1()), timedelta(days=days)
    certificate = _client_certificate(ca, key.public_key(), ADMINISTRATOR, (ADMINISTRATORS,), cluster, life)
    return _pair(certificate, key)


MOST_NAME_BYTES = 64
"""Longest user or group of a certificate in UTF-8 (RFC 5280, ub-common-name; `cryptography` counts its 64 as bytes)."""


def person_certificate(
    ca: KeyPair, public: str, user: str, groups: Sequence[str], cluster: str, life: timedelta
) -> str:
    """Issue a person's client certificate (PEM) for a public key (PEM), valid for `life` but not longer than the
    authority.
    """
    certificate = _client_certificate(ca, public_key(public), user, groups, cluster, life)
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def person_key() -> SigningKey:
    """Make a person's key, in the format that browsers export and kubectl reads too (PKCS #8)."""
    key = ec.generate_private_key(ec.SECP256R1())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {"private": key.private_bytes(*form).decode(), "public": _public_pem(key.public_key())}


def public_key(text: str) -> ec.EllipticCurvePublicKey:
    """Return a public key from PEM. Raises ValueError if it is no EC key on P-256."""
    try:
        key = serialization.load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("it is no public key in PEM (BEGIN PUBLIC KEY)") from error
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    raise ValueError("it is no EC key on the curve P-256")


def normalized_key(text: str) -> str:
    """Return a public key that `public_key` accepts as PEM without the text around it. Raises ValueError as it does."""
    return _public_pem(public_key(text))


def certified_key(certificate_pem: str) -> str:
    """Return the public key (PEM) of a certificate. Raises ValueError for a text that is none."""
    return _public_pem(x509.load_pem_x509_certificate(certificate_pem.encode()).public_key())


def _client_certificate(
    ca: KeyPair, key: ec.EllipticCurvePublicKey, user: str, groups: Sequence[str], cluster: str, life: timedelta
) -> x509.Certificate:
    """Issue a client certificate. Kubernetes reads the user from CN and the groups from O."""
    authority = x509.load_pem_x509_certificate(ca["certificate"].encode())
    authority_key = _authority_key(ca, authority)
    parts = (
        *((NameOID.ORGANIZATION_NAME, group) for group in groups),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, cluster),
        (NameOID.COMMON_NAME, user),
    )
    end = min(datetime.now(timezone.utc) + life, authority.not_valid_after_utc)
    identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return (
        _certificate(x509.Name([x509.NameAttribute(oid, value) for oid, value in parts]), key, end)
        .issuer_name(authority.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def administrator_kubeconfig(
    cluster: str, api_url: str, server_name: str, ca_certificate: str, administrator: KeyPair
) -> str:
    """Return the administrator's kubeconfig (YAML), as `kubeconfig` does."""
    return kubeconfig(cluster, f"{cluster}-admin", api_url, server_name, ca_certificate, administrator)


def kubeconfig(cluster: str, user: str, api_url: str, server_name: str, ca_certificate: str, pair: KeyPair) -> str:
    """Return a kubeconfig (YAML) with everything embedded, its context named like the cluster.

    user: name of its entry. pair: its key is empty in a kubeconfig whose owner has the key and adds it.
    server_name: the endpoint's own name, which every API server's certificate has from its first day; a load
    balancer that people go through may be younger than the certificate.
    """

    def embedded(pem: str) -> str:
        return base64.b64encode(pem.encode()).decode()

    server = {
        "server": api_url,
        "tls-server-name": server_name,
        "certificate-authority-data": embedded(ca_certificate),
    }
    keys = {"client-certificate-data": embedded(pair["certificate"])}
    if pair["key"]:
        keys["client-key-data"] = embedded(pair["key"])
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster,
        "clusters": [{"name": cluster, "cluster": server}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "users": [{"name": user, "user": keys}],
    }
    return yaml.dump(document, Dumper=_DUMPER, sort_keys=False)


def ca_hash(certificate_pem: str) -> str:
    """Return `sha256:<hex>` of the authority's public key, which joining machines pin (kubeadm's caCertHashes)."""
    return ca_hashes(certificate_pem)[0]


def ca_hashes(certificates_pem: str) -> list[str]:
    """Return the same of each certificate of a text. Raises ValueError if it has none."""
    keys = [each.public_key() for each in x509.load_pem_x509_certificates(certificates_pem.encode())]
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return [f"sha256:{hashlib.sha256(key.public_bytes(*form)).hexdigest()}" for key in keys]


def not_after(certificate_pem: str) -> datetime:
    """Return the last moment at which a certificate is valid, in UTC."""
    return x509.load_pem_x509_certificate(certificate_pem.encode()).not_valid_after_utc


def verify(certificate_pem: str, ca_pem: str) -> None:
    """Check that the authority signed the certificate and that both are valid now. Raises ValueError if not."""
    certificate, authority = (x509.load_pem_x509_certificate(each.encode()) for each in (certificate_pem, ca_pem))
    subject, issuer = certificate.subject.rfc4514_string(), authority.subject.rfc4514_string()
    if not authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
        raise ValueError(f"{issuer} is no certificate authority, so it cannot have signed {subject}")
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError) as error:
        raise ValueError(f"{subject} was not signed by this {issuer}: it belongs to another authority") from error
    now = datetime.now(timezone.utc)
    for name, checked in ((subject, certificate), (issuer, authority)):
        if not checked.not_valid_before_utc <= now <= checked.not_valid_after_utc:
            period = (
                f"{checked.not_valid_before_utc:%Y-%m-%d %H:%M} to {checked.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
            )
            raise ValueError(f"{name} is valid from {period}, not now; compare this machine's clock")
