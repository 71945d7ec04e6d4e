"""The organisation policy of Google Cloud about issuers whose tokens a workload identity pool may accept."""

from dataclasses import replace
from typing import Any

import pytest

from components.spec.pod_identity import PodIdentity
from tests.components.recorded_wiring import plan
from tests.operations.clouds.test_account_offers import policies


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ({"allValues": "DENY"}, True),
        ({"allowedValues": ["https://token.actions.githubusercontent.com"]}, True),
        ({"deniedValues": ["is:https://kubernetes.default.svc.cluster.local"]}, True),
        ({"allowedValues": ["https://sts.amazonaws.com", "https://kubernetes.default.svc.cluster.local"]}, False),
        ({"allowedValues": ["https://sts.amazonaws.com", "A_WORD_OF_GOOGLE"]}, False),
    ],
)
def test_a_policy_about_issuers_is_compared_only_with_a_cluster_that_has_pod_identity(
    policy: dict[str, Any], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"iam.workloadIdentityPoolProviders": {"listPolicy": policy}}
    planned = plan("gcp-prod")
    assert policies(monkeypatch, planned, answers) == []
    spec = planned.spec.model_copy(update={"pod_identity": PodIdentity()})
    found = policies(monkeypatch, replace(planned, spec=spec), answers)
    assert ["the workload identity pool with the issuer of this cluster" in line for line in found] == [True] * refused
