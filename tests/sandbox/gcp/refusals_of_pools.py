"""Refusals of workload identity pools: scene, changes, error code, words (refusals.py says how rows are written)."""

from tests.sandbox.scenes import Row

OIDC = {"issuerUri": "https://kubernetes.default.svc.cluster.local"}
POOLS: dict[str, Row] = {
    "an issuer without TLS": ("verifier", {"oidc": {"issuerUri": "http://a.example"}}, "badRequest", "HTTPS scheme"),
    "no subject": ("verifier", {"attributeMapping": {"attribute.a": "assertion.sub"}}, "badRequest", "google.subject"),
    "a long condition": ("verifier", {"attributeCondition": "a" * 4097}, "badRequest", "4096"),
    "keys that are no JSON": ("verifier", {"oidc": {**OIDC, "jwksJson": "["}}, "badRequest", "JSON object"),
    "no keys": ("verifier", {"oidc": {**OIDC, "jwksJson": '{"keys": []}'}}, "badRequest", "no keys"),
    "a field of a key that Google does not take": (
        "verifier",
        {"oidc": {**OIDC, "jwksJson": '{"keys": [{"kty": "RSA", "kid": "a", "x5t": "b"}]}'}},
        "badRequest",
        "not supported",
    ),
}
