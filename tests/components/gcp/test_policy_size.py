"""The size of the bundle store's policy that the check `worker-policy-size` predicts."""

import json

import pytest

from components.checks.worker_identity import policy_bytes
from components.gcp.identity import account_stem, condition, rights
from tests.components.recorded_wiring import plan

WEB = next(each for each in plan("gcp-prod").pools if each.name == "web")
PROJECT = "p" * 30
"""As long as a project's id may be."""


def policy(cluster: str, machines: list[str]) -> str:
    """Return the bindings of these workers as Google's API shows them: those of one role and condition are one."""
    members: dict[str, list[str]] = {}
    for machine in machines:
        account = f"{account_stem(cluster, machine)}-abcdef@{PROJECT}.iam.gserviceaccount.com"
        for grant in rights(WEB, machine):
            if grant.prefixes:
                role = f"projects/{PROJECT}/roles/{cluster}_{grant.role}_abcdef"
                when = condition(f"{cluster}-bundles-abcdef1", grant.name, grant.prefixes)
                key = json.dumps({"role": role, "condition": when})
                members.setdefault(key, []).append(f"serviceAccount:{account}")
    return json.dumps([{**json.loads(key), "members": of} for key, of in members.items()])


@pytest.mark.parametrize("cluster", ["a", "gcp-prod", "c" * 30])
@pytest.mark.parametrize("pool", ["w", "web", "p" * 15])
def test_a_worker_adds_what_the_check_counts(cluster: str, pool: str) -> None:
    first, machines = f"{pool}-0", [f"{pool}-{index}" for index in range(1, 40)]
    added = len(policy(cluster, [first, *machines])) - len(policy(cluster, [first]))
    counted = sum(policy_bytes(cluster, machine) for machine in machines)
    assert added <= counted < added * 1.01
