"""Documents of a cluster's issuer, judged by another library: PyJWT reads the keys and verifies a token."""

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from components.machine import pki
from components.machine.issuer import discovery, issuer, key_set

URL = "https://dev-issuer-0123456.s3.eu-west-1.amazonaws.com"
SUBJECT = "system:serviceaccount:shop:uploads"


def token(key: pki.SigningKey, kid: str) -> str:
    claims = {"iss": URL, "sub": SUBJECT, "aud": ["sts.amazonaws.com"], "exp": int(time.time()) + 60}
    return jwt.encode(claims, key["private"], "RS256", {"kid": kid})


def test_a_verifier_finds_each_key_by_its_id_and_accepts_the_tokens_of_both() -> None:
    keys = [pki.signing_key() for _ in range(2)]
    published: dict[str, Any] = json.loads(key_set([each["public"] for each in keys]))
    found = jwt.PyJWKSet.from_dict(published)
    ids = [each["kid"] for each in published["keys"]]
    for key, kid in zip(keys, ids, strict=True):
        verified = jwt.decode(
            token(key, kid), found[kid], algorithms=["RS256"], audience="sts.amazonaws.com", issuer=URL
        )
        assert verified["sub"] == SUBJECT
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token(keys[0], ids[1]), found[ids[1]], algorithms=["RS256"], audience="sts.amazonaws.com")


def test_the_documents_have_public_values_alone() -> None:
    key = pki.signing_key()
    [published] = json.loads(key_set([key["public"]]))["keys"]
    assert set(published) == {"use", "kty", "kid", "alg", "n", "e"}
    with pytest.raises(ValueError, match="no BEGIN PUBLIC KEY"):
        key_set([key["private"]])


def test_discovery_names_the_issuer_and_its_keys() -> None:
    document = json.loads(discovery(URL))
    assert document["issuer"] == URL
    assert document["jwks_uri"] == issuer(URL)["keys"] == f"{URL}/openid/v1/jwks"


def test_a_key_of_another_kind_is_refused() -> None:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(TypeError, match="is not an RSA key"):
        key_set([public.public_bytes(*form).decode()])
