"""The admission policy against replaced and revoked machines is written once, and put right after a change."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_announcements import MEMBERS
from tests.agent.test_signing import GIVEN


def test_the_policy_is_written_again_only_after_a_change(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module("machines").compute, "machines", lambda run, addresses: {})
    revocations = module("revocations")
    given = GIVEN | {"members": MEMBERS}
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    policy = cluster.objects[f"{revocations.POLICIES}/{revocations.NAME}"]
    policy["spec"]["matchConstraints"]["matchPolicy"] = "Equivalent"  # a default that the API server adds
    policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    cluster.asked.clear()
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    assert cluster.asked == []
    policy["spec"]["validations"][0]["expression"] = "true"
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    assert cluster.asked == [f"PUT {revocations.POLICIES}/{revocations.NAME}"]
