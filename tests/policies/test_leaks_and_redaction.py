"""The two tables of secrets' forms: what the policy pack refuses, and what machines redact in logs.

They are two because logs may lose harmless text, and a rule that stops `up` must not take a line of a script for a
secret. By samples, each form of one table is known to the other, or stands here with the reason why not.
"""

import pytest

from policies.rules.leaks import PATTERNS, secrets
from tests.cloud_init.test_redaction import GONE, HARMLESS, SECRETS, redacted

FORMS = {
    "a private key": ("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----", "MHcCAQEEIB"),
    "a bootstrap token": ("kubeadm join --token {} x", "abcdef.0123456789abcdef"),
    "an AWS access key": ("id {}", "AKIAIOSFODNN7EXAMPLE"),
    "an AWS secret key": ("aws_secret_access_key = {}", 40 * "k"),
    "a Google API key": ("key {}", f"AIza{35 * 'k'}"),
    "a Google access token": ("token {}", f"ya29.{24 * 'k'}"),
    "an Azure storage key": ("AccountName=a;AccountKey={};EndpointSuffix=x", f"{86 * 'k'}=="),
    "a JSON web token": ("token {}", "eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5l.c2lnbmF0dXJl"),
    "a signed URL": ("https://a.example/b?X-Amz-Signature={}&c=1", "0f0f0f0f0f0f"),
    "a kubeconfig's key": ("    client-key-data: {}", "LS0tLS1CRUdJTiBSU0Eg"),
    "a kubeadm certificate key": ("kubeadm join --certificate-key {}", 64 * "a"),
    "a token of a service": ("token {}", f"ghp_{36 * 'k'}"),
    "a password in a URL": ("proxy https://me:{}@proxy.example:3128", "hunter2hunter2"),
    "an Authorization header": ("Authorization: Basic {}", "bWU6aHVudGVyMmh1bnRlcjI="),
}
"""By form of the policy pack: a text around a secret, and the secret."""
TOKENS = ("github_pat_" + 30 * "k", "glpat-" + 20 * "k", "pul-" + 40 * "a", "dckr_pat_" + 20 * "k", "xoxb-" + 12 * "1")
"""Further tokens of services."""

NOT_REFUSED = {
    "ends of private keys whose BEGIN line was cut off": "only logs are cut off",
    "fields that hold secrets, in yaml": "plans and scripts name fields like these beside references to secrets",
    "fields that hold secrets, of AWS": "as above; with a key of AWS' own form it is refused",
    "flags that hold secrets": "scripts pass such flags with variables",
    "values of environment variables that hold secrets": "plans name variables beside references to secrets",
}
"""Samples of tests/cloud_init/test_redaction.py that the policy pack lets pass, with the reason."""


def test_each_form_that_the_policy_pack_refuses_has_a_sample() -> None:
    assert FORMS.keys() == PATTERNS.keys()


@pytest.mark.parametrize("form", FORMS)
def test_what_the_policy_pack_refuses_is_redacted(form: str) -> None:
    text, secret = FORMS[form]
    assert form in secrets(text.format(secret))
    said = redacted(text.format(secret))
    assert secret not in said and GONE in said


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_of_services_are_in_both(token: str) -> None:
    assert "a token of a service" in secrets(f"x {token}.") and token not in redacted(f"x {token}.")


@pytest.mark.parametrize("sample", SECRETS)
def test_what_is_redacted_is_refused_or_named_here(sample: str) -> None:
    assert bool(secrets(SECRETS[sample][0])) != (sample in NOT_REFUSED)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_harmless_in_both(text: str) -> None:
    assert (secrets(text), redacted(text)) == (set(), text)
