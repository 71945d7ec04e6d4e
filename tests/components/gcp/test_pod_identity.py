"""Identities of pods on Google Cloud: which tokens the pool takes, and by which keys."""

import json
from typing import Any

import pytest

from components.gcp.pod_identity import pool_id
from components.plan import plan_cluster
from components.stack_files.stack import read_stack
from operations.recorder.recorder import Recording, record
from tests.components.recorded_wiring import of
from tools.golden.cases import PRINCIPALS, changed

POOL = "gcp:iam/workloadIdentityPool:WorkloadIdentityPool"
PROVIDER = "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider"
GRANT = "gcp:projects/iAMMember:IAMMember"


@pytest.fixture(scope="module")
def found() -> Recording:
    recording = record("gcp-dev", changed("gcp-dev", PRINCIPALS))
    assert recording.errors == []
    return recording


def oidc(found: Recording) -> dict[str, Any]:
    (provider,) = of(found, PROVIDER).values()
    return provider.inputs["oidc"]


def test_the_provider_takes_tokens_of_the_listed_service_accounts_alone(found: Recording) -> None:
    (provider,) = of(found, PROVIDER).values()
    assert provider.inputs["attributeMapping"] == {"google.subject": "assertion.sub"}
    assert provider.inputs["attributeCondition"] == (
        "assertion.sub in ['system:serviceaccount:shop:uploads', 'system:serviceaccount:shop:reports.monthly']"
    )


def test_without_service_accounts_the_provider_takes_no_token() -> None:
    (provider,) = of(record("gcp-dev", changed("gcp-dev", {"pod_identity": {}})), PROVIDER).values()
    assert provider.inputs["attributeCondition"] == "false"


def test_tokens_keep_kubeadms_issuer_with_the_clusters_domain() -> None:
    whole = changed("gcp-dev", {**PRINCIPALS, "network": {"domain": "k8s.example.com"}})
    assert oidc(record("gcp-dev", whole))["issuerUri"] == "https://kubernetes.default.svc.k8s.example.com"


def test_the_provider_has_the_public_keys_of_this_rotation_and_the_next_and_no_private_one(found: Recording) -> None:
    keys = json.loads(oidc(found)["jwksJson"])["keys"]
    assert len({key["kid"] for key in keys}) == 2
    assert all(key.keys() == {"use", "kty", "kid", "alg", "n", "e"} for key in keys)
    rotated = record("gcp-dev", changed("gcp-dev", {**PRINCIPALS, "rotation": {"service_account": 2}}))
    assert len(json.loads(oidc(rotated)["jwksJson"])["keys"]) == 3, "the first one, until its tokens have expired"


def test_no_policy_of_the_project_changes(found: Recording) -> None:
    assert not [each for each in of(found, GRANT).values() if each.inputs["member"].startswith("principal:")]


def test_the_outputs_name_the_provider_and_the_member_of_each_service_account(found: Recording) -> None:
    outputs = found.outputs
    assert outputs["pod_provider"].endswith("/providers/cluster")
    assert outputs["pod_roles"].keys() == {"shop/uploads", "shop/reports.monthly"}
    assert all(
        member.startswith("principal://iam.googleapis.com/projects/") for member in outputs["pod_roles"].values()
    )


def test_the_option_changes_no_machine() -> None:
    def bundles(**more: Any) -> dict[str, str]:
        spec = read_stack("gcp-dev", changed("gcp-dev", more)).spec
        return {group.name: group.bundle.sha256 for group in plan_cluster("gcp-dev", spec).machine_groups}

    assert bundles() == bundles(**PRINCIPALS)


@pytest.mark.parametrize("cluster", ["gcp-dev", "a", "abcdefghijklmnopqrstuvwxyz"])
def test_ids_of_pools_fit_and_do_not_begin_as_googles_own(cluster: str) -> None:
    name = pool_id(cluster, "bcdfgh")
    assert 4 <= len(name) <= 32 and name.endswith("-bcdfgh") and not name.startswith("gcp-")
