"""Roles of pods."""

from typing import Any

from tests.components.spec.documents import Case

MINE, OTHER = (f"arn:aws:iam::111122223333:policy/{name}" for name in ("uploads", "reports"))


def accounts(*listed: dict[str, Any], **fields: Any) -> dict[str, Any]:
    whole = [{"namespace": "shop", "name": "uploads", **each} for each in listed]
    return {"pod_identity": {"service_accounts": whole}, **fields}


def google(*listed: dict[str, Any]) -> dict[str, Any]:
    return accounts(*listed, cloud="gcp")


def flag(name: str) -> dict[str, Any]:
    argument = {"name": name, "value": "https://issuer.example.com"}
    return {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": [argument]}}}}}


_FLAG = "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0"
CASES = (
    Case(
        "pod-identity-aws-field",
        accounts({"policies": [MINE]}, cloud="azure"),
        "pod_identity.service_accounts.0.policies",
        {**accounts({}, cloud="azure"), "pod_identity": {"issuer": "accepted"}},
    ),
    Case(
        "pod-identity-aws-field",
        google({"policies": [MINE]}),
        "pod_identity.service_accounts.0.policies",
        google({}),
    ),
    Case(
        "pod-identity-aws-field",
        {"cloud": "gcp", "pod_identity": {"issuer": "accepted"}},
        "pod_identity.issuer",
        {"cloud": "gcp", "pod_identity": {"issuer": "signs"}},
    ),
    Case(
        "pod-identity-long-subject",
        google({"name": "a" * 101}),
        "pod_identity.service_accounts.0",
        google({"name": "a" * 100}),
    ),
    Case(
        "pod-identity-many",
        google(*({"name": f"{'a' * 90}-{number}"} for number in range(40))),
        "pod_identity.service_accounts",
        google(*({"name": f"{'a' * 60}-{number}"} for number in range(40))),
    ),
    *(
        Case("pod-identity-early", accounts(kubernetes=early), "pod_identity", accounts(kubernetes=first))
        for early, first in (
            *(("1.31.14", "1.32.13"), ("1.32.11", "1.32.13"), ("1.33.7", "1.33.9"), ("1.34.3", "1.34.4")),
            *(("1.24.17", "1.36.6"), ("1.35.0", "1.35.1")),
        )
    ),
    Case(
        "pod-identity-early",
        accounts(kubernetes="1.34.3", cloud="azure"),
        "pod_identity",
        accounts(kubernetes="1.34.4", cloud="azure"),
    ),
    Case(
        "pod-identity-twice",
        accounts({}, {"policies": [MINE]}),
        "pod_identity.service_accounts.1",
        accounts({}, {"name": "reports"}, {"namespace": "web"}),
    ),
    Case(
        "pod-identity-policy-twice",
        accounts({"policies": [MINE, OTHER, MINE]}),
        "pod_identity.service_accounts.0.policies.2",
        accounts({"policies": [MINE, OTHER]}),
    ),
    Case(
        "pod-identity-broad",
        accounts({"policies": [MINE]}, {"name": "reports", "policies": ["arn:aws:iam::aws:policy/AmazonS3FullAccess"]}),
        "pod_identity.service_accounts.1.policies.0",
        accounts({"policies": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]}),
    ),
    *(
        Case("pod-identity-flags", {**accounts(), **flag(name)}, _FLAG, flag(name))
        for name in ("service-account-issuer", "service-account-jwks-uri")
    ),
    Case(
        "pod-identity-no-way",
        accounts({}, network={"egress": "none"}, cloud="azure"),
        "pod_identity.service_accounts",
        google({}) | {"network": {"egress": "none"}},
    ),
    Case(
        "pod-identity-no-way",
        accounts({}, network={"egress": "none"}),
        "pod_identity.service_accounts",
        accounts(network={"egress": "none"}),
    ),
)
