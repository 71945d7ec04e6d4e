"""cloud-init/redaction.json: patterns of secrets that both systems redact."""

import json
import re

import pytest

from components.machine.bundle import CLOUD_INIT, REDACTION

TABLE = json.loads((CLOUD_INIT / REDACTION).read_text())["patterns"]
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\nAoGCCqGSM49\n-----END EC PRIVATE KEY-----"
JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
GONE = "[secret]"
SECRETS: dict[str, tuple[str, str]] = {
    "private keys": (f"a\n{KEY}\nb", "a\n[secret]\nb"),
    "private keys, cut off at the end": (f"a\n{KEY[:50]}", "a\n[secret]"),
    "ends of private keys whose BEGIN line was cut off": (KEY[40:] + "\nb - c", "[secret]\nb - c"),
    "service-account tokens and other JSON web tokens": (f"got {JWT}, kept", "got [secret], kept"),
    "bootstrap tokens": ("with abcdef.0123456789abcdef now", "with [secret] now"),
    "Authorization headers": ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer [secret]"),
    "AWS access key ids": ("id ASIAIOSFODNN7EXAMPLE.", "id [secret]."),
    "tokens of services, by their first letters": (f"got ya29.a0AfH6SMB{20 * 'x'}, kept", "got [secret], kept"),
    "signatures in URLs and connection strings": (
        "GET /a?X-Amz-Signature=0f0f&b=1",
        "GET /a?X-Amz-Signature=[secret]&b=1",
    ),
    "passwords in URLs": ("http://me:pass@proxy:3128", "http://me:[secret]@proxy:3128"),
    "fields that hold secrets": ('{"client-key-data": "LS0tLS1CRUdJTiBS"}', '{"client-key-data": "[secret]"}'),
    "fields that hold secrets, in yaml": ("    token: 0123456789abcdef", "    token: [secret]"),
    "fields that hold secrets, of AWS": (
        '"SecretAccessKey" : "wJalrXUtnFEMI/K7MDENG"',
        '"SecretAccessKey" : "[secret]"',
    ),
    "flags that hold secrets": ("app --db-password hunter22 --port 3", "app --db-password [secret] --port 3"),
    "values of environment variables that hold secrets": (
        "- name: DB_PASSWORD\n  value: hunter2",
        "- name: DB_PASSWORD\n  value: [secret]",
    ),
}
"""By row: texts, and what remains of them."""
HARMLESS = (
    'I1121 18:00:00.000000    1234 kubelet.go:42] "Starting kubelet" node="web-0"',
    "https://api.dev.mullion.internal:6443/api/v1/nodes/web-0",
    "sha256:5c3ce1665a0938e01efadbbd11c5b0ca2a6a3e0d3a0f6c9b11e7f2c6a3a80dbb",
    '{"secret": {"ref": "facts.join_secret"}, "path": "/etc/kubernetes/pki/ca.key"}',
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "flannel.4096 10.244.3.2 kube-proxy",
    "registry.k8s.io/pause:3.10.2",
    "--service-account-signing-key-file=/etc/kubernetes/pki/sa.key --client-cert-auth=true",
    "--authorization-mode=Node,RBAC --bootstrap-token --next",
    '"kind":"Secret","apiVersion":"v1","secretName":"web-certificates"',
)


def redacted(text: str) -> str:
    for row in TABLE:
        text = re.sub(row["pattern"], r"\1[secret]", text)
    return text


@pytest.mark.parametrize("name", SECRETS)
def test_ops_02_a_secret_is_redacted_and_the_text_around_it_stays(name: str) -> None:
    text, left = SECRETS[name]
    assert redacted(text) == left


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_every_row_has_one_group_that_stays_and_a_case_here() -> None:
    assert {re.compile(row["pattern"]).groups for row in TABLE} == {1}
    assert {row["what"] for row in TABLE} <= set(SECRETS)
