"""Identities of pods on Google Cloud on the real engine: the pool comes, learns keys, comes back, and goes."""

from collections.abc import Callable

import jwt
import pytest

from sandbox.gcp.workload_identity import POOL, PROVIDER

from .conftest import Stack

pytestmark = pytest.mark.engine

WANTED = {"pod_identity": {"service_accounts": [{"namespace": "shop", "name": "uploads"}]}, "pools": {"web": None}}


def keys(stack: Stack) -> list[str]:
    """Return the ids of the keys that the provider knows."""
    [provider] = stack.cloud_state.resources(PROVIDER)
    return [each.key_id or "" for each in jwt.PyJWKSet.from_json(provider.inputs["oidc"]["jwksJson"]).keys]


def test_a_pool_comes_rotates_returns_by_another_id_and_goes(new_stack: Callable[[str], Stack]) -> None:
    stack = new_stack("gcp-dev")
    stack.edit(pools={"web": None})
    built = stack.up().outputs
    machines = stack.machines()
    stack.edit(**WANTED)
    outputs = stack.up().outputs
    assert stack.machines() == machines, "no machine changes"
    assert stack.up().steps == {}
    [pool], [provider] = stack.cloud_state.resources(POOL), stack.cloud_state.resources(PROVIDER)
    assert "pod_provider" not in built and outputs["pod_provider"] == provider.outputs["name"]
    assert outputs["pod_roles"] == {
        "shop/uploads": f"principal://iam.googleapis.com/{pool.outputs['name']}/subject/system:serviceaccount:shop:uploads"
    }

    current, ahead = keys(stack)
    private = stack.stashed("service-account-0")["private"]
    token = jwt.encode({"sub": "system:serviceaccount:shop:uploads"}, private, "RS256")
    known = jwt.PyJWKSet.from_json(provider.inputs["oidc"]["jwksJson"])
    assert jwt.decode(token, known[current], algorithms=["RS256"])["sub"].endswith(":uploads")
    stack.edit(**WANTED, rotation={"service_account": 1})
    stack.up()
    assert keys(stack)[:2] == [ahead, current] and len(keys(stack)) == 3

    stack.edit(pools={"web": None}, rotation={"service_account": 1})
    stack.up()
    assert stack.cloud_state.resources(POOL) == [] == stack.cloud_state.resources(PROVIDER)
    stack.edit(**WANTED, rotation={"service_account": 1})
    stack.up()
    [again] = stack.cloud_state.resources(POOL)
    assert again.id != pool.id, "Google keeps the id of a deleted pool for 30 days"
    stack.down()
    assert stack.cloud_state.resources(POOL) == []
    assert stack.calls_without_permissions() == []
