"""Certificates and keys for kubeadm, checked by code that did not create them."""

import base64
import ssl
from datetime import datetime, timedelta, timezone

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import ExtensionPolicy, PolicyBuilder, Store

from components.machine import pki

KNOWN_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUA7mkeLWIB3l/deAdo5fI5EbOaDkwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAeFw0yNjExMjExMjAxNTdaFw0zNjExMTgx
MjAxNTdaMBUxEzARBgNVBAMMCmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARuc1z9YVO4Yo1T0uc6Rd81IlqsUoBZyau8q+ggnD/d5hvwo60++t99
Hlwq2GrYDDmrSOgyix01/UepbL/OI8Euo1MwUTAdBgNVHQ4EFgQU/hIuRVP/+rI0
PQ3wSnA4afm+CkYwHwYDVR0jBBgwFoAU/hIuRVP/+rI0PQ3wSnA4afm+CkYwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBky3VGIRjJIKFJQCU7zUGl
VCrCRmbBn3uib2Pj12JVXwIhAPrnbyzfxTsCRwl8wG9NjmXuNBXEq3n1Dw8KHPcO
OulU
-----END CERTIFICATE-----
"""
KNOWN_HASH = "sha256:07d0d3eb43d8cf6402a86187edc397efb519cf0fbe6330fb4a3ec04f44c3de8c"
"""By `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256`, as kubeadm documents."""


def load(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


@pytest.fixture(scope="module")
def ca() -> pki.KeyPair:
    return pki.certificate_authority("kubernetes")


@pytest.fixture(scope="module")
def administrator(ca: pki.KeyPair) -> pki.KeyPair:
    return pki.administrator_certificate(ca, "ci-4711")


@pytest.mark.parametrize("common_name", ["kubernetes", "front-proxy-ca", "etcd-ca"])
def test_an_authority_is_an_ec_p256_root_that_may_sign_certificates(common_name: str) -> None:
    """kubeadm accepts only a certificate with IsCA and an EC key as authority."""
    authority = pki.certificate_authority(common_name)
    certificate = load(authority["certificate"])
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert certificate.subject == certificate.issuer
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == common_name
    assert constraints.critical
    assert constraints.value.ca
    assert constraints.value.path_length is None, "a cross-signed successor would be an intermediate"
    assert usage.critical
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert usage.value.digital_signature
    assert not usage.value.key_encipherment, "EC keys encipher nothing"
    public_key = certificate.public_key()
    assert isinstance(public_key, ec.EllipticCurvePublicKey)
    assert public_key.curve.name == "secp256r1"
    identifier = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert identifier == x509.SubjectKeyIdentifier.from_public_key(public_key)


def test_a_private_key_belongs_to_its_certificate_and_has_the_form_kubeadm_writes(
    ca: pki.KeyPair, administrator: pki.KeyPair
) -> None:
    for pair in (ca, administrator):
        assert pair["key"].startswith("-----BEGIN EC PRIVATE KEY-----\n")
        key = serialization.load_pem_private_key(pair["key"].encode(), password=None)
        assert key.public_key() == load(pair["certificate"]).public_key()


@pytest.mark.parametrize(("make", "days"), [("ca", 3650), ("administrator", 30)])
def test_certificates_are_valid_from_five_minutes_ago_for_their_time(
    make: str, days: int, request: pytest.FixtureRequest
) -> None:
    certificate = load(request.getfixturevalue(make)["certificate"])
    now, tolerance = datetime.now(timezone.utc), timedelta(minutes=1)
    assert abs(certificate.not_valid_before_utc - (now - timedelta(minutes=5))) < tolerance
    assert abs(certificate.not_valid_after_utc - (now + timedelta(days=days))) < tolerance
    assert pki.not_after(request.getfixturevalue(make)["certificate"]) == certificate.not_valid_after_utc


def test_serial_numbers_are_random_and_positive(ca: pki.KeyPair) -> None:
    serials = {load(pki.administrator_certificate(ca, "ci")["certificate"]).serial_number for _ in range(5)}
    assert len(serials) == 5
    assert all(0 < each < 2**159 for each in serials), "RFC 5280: positive, at most 20 octets"


def test_the_administrator_may_do_everything_from_the_first_second(administrator: pki.KeyPair) -> None:
    """Group system:masters needs no binding, so it works before `kubeadm init` creates RBAC objects."""
    certificate = load(administrator["certificate"])
    subject = {each.oid: each.value for each in certificate.subject}
    assert subject == {
        NameOID.ORGANIZATION_NAME: "system:masters",
        NameOID.ORGANIZATIONAL_UNIT_NAME: "ci-4711",
        NameOID.COMMON_NAME: "kubernetes-admin",
    }
    usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH], "it must not serve TLS"
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_the_chain_holds_for_an_independent_verifier(ca: pki.KeyPair, administrator: pki.KeyPair) -> None:
    anything = (
        ExtensionPolicy.permit_all()
    )  # the default policy requires a subject alternative name, which client certificates lack
    verifier = (
        PolicyBuilder()
        .store(Store([load(ca["certificate"])]))
        .extension_policies(ca_policy=ExtensionPolicy.webpki_defaults_ca(), ee_policy=anything)
        .build_client_verifier()
    )
    chain = verifier.verify(load(administrator["certificate"]), []).chain
    assert [each.subject for each in chain] == [
        load(administrator["certificate"]).subject,
        load(ca["certificate"]).subject,
    ]


def test_openssl_accepts_authority_and_client_certificate(
    ca: pki.KeyPair, administrator: pki.KeyPair, tmp_path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ca["certificate"])
    client = tmp_path / "client.pem"
    client.write_text(administrator["certificate"] + administrator["key"])
    context.load_cert_chain(client)
    assert context.cert_store_stats()["x509_ca"] == 1, "OpenSSL counts it as an authority"


def test_a_client_certificate_never_outlives_its_authority() -> None:
    authority = pki.certificate_authority("kubernetes", years=1)
    leaf = pki.administrator_certificate(authority, "ci", days=4000)
    assert pki.not_after(leaf["certificate"]) == pki.not_after(authority["certificate"])


def test_an_authority_without_an_ec_key_is_refused_by_name() -> None:
    rsa_key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    mixed: pki.KeyPair = {"certificate": KNOWN_CERTIFICATE, "key": rsa_key.decode()}
    with pytest.raises(TypeError, match="CN=kubernetes is not an EC key"):
        pki.administrator_certificate(mixed, "ci")


def test_verify_accepts_what_the_authority_signed_and_the_authority_itself(
    ca: pki.KeyPair, administrator: pki.KeyPair
) -> None:
    pki.verify(administrator["certificate"], ca["certificate"])
    pki.verify(ca["certificate"], ca["certificate"])


def test_verify_raises_an_error_with_the_reason(ca: pki.KeyPair, administrator: pki.KeyPair) -> None:
    twin = pki.certificate_authority("kubernetes")  # same name, different key
    with pytest.raises(ValueError, match="was not signed by this CN=kubernetes"):
        pki.verify(administrator["certificate"], twin["certificate"])
    with pytest.raises(ValueError, match="was not signed by this CN=etcd-ca"):
        pki.verify(administrator["certificate"], pki.certificate_authority("etcd-ca")["certificate"])
    with pytest.raises(ValueError, match="is no certificate authority"):
        pki.verify(administrator["certificate"], administrator["certificate"])
    with pytest.raises(ValueError, match=r"CN=kubernetes-admin.* is valid from .* not now"):
        pki.verify(pki.administrator_certificate(ca, "ci", days=0)["certificate"], ca["certificate"])


def test_the_ca_hash_is_the_one_kubeadm_documents() -> None:
    assert pki.ca_hash(KNOWN_CERTIFICATE) == KNOWN_HASH


def test_the_service_account_key_is_rsa_because_kubeadm_1_20_requires_it() -> None:
    """kubeadm#2756."""
    pair = pki.signing_key()
    assert pair["private"].startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert pair["public"].startswith("-----BEGIN PUBLIC KEY-----\n")
    private = serialization.load_pem_private_key(pair["private"].encode(), password=None)
    public = serialization.load_pem_public_key(pair["public"].encode())
    assert isinstance(private, rsa.RSAPrivateKey)
    assert private.key_size == 2048
    assert private.public_key() == public


@pytest.mark.parametrize("make", [pki.encryption_key, pki.hmac_key])
def test_symmetric_keys_are_32_random_bytes_in_base64(make) -> None:
    first, second = make(), make()
    assert first != second
    assert len(base64.b64decode(first, validate=True)) == 32


def test_the_kubeconfig_embeds_everything_and_checks_the_endpoints_own_name(
    ca: pki.KeyPair, administrator: pki.KeyPair
) -> None:
    url, own = "https://public.example.com:6443", "api.ci.mullion.internal"
    document = yaml.safe_load(pki.administrator_kubeconfig("ci", url, own, ca["certificate"], administrator))
    assert (document["apiVersion"], document["kind"], document["current-context"]) == ("v1", "Config", "ci")
    [cluster], [context], [user] = document["clusters"], document["contexts"], document["users"]
    assert (cluster["name"], cluster["cluster"]["server"], cluster["cluster"]["tls-server-name"]) == ("ci", url, own)
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode() == ca["certificate"]
    assert context == {"name": "ci", "context": {"cluster": "ci", "user": "ci-admin"}}
    assert user["name"] == "ci-admin"
    embedded = {key: base64.b64decode(value).decode() for key, value in user["user"].items()}
    assert embedded == {
        "client-certificate-data": administrator["certificate"],
        "client-key-data": administrator["key"],
    }
