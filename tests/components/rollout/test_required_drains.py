"""A worker that cannot be drained is not deleted, unless its pool allows it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from components.rollout import gates, traffic
from components.rollout.gates import Rollout
from components.rollout.kubernetes_api import Unresolved
from components.spec.options import Rollout as Options
from tests.components.rollout.test_gates import Machines, plan


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the API's name unknown, and return the warnings."""
    texts: list[str] = []

    async def unknown(*_: Any, **__: Any) -> str:
        raise Unresolved("https://api.aws-prod.mullion.internal:6443: no address")

    monkeypatch.setattr(gates, "drain_or_stop", unknown)
    monkeypatch.setattr(gates, "KubernetesApi", lambda access: access)
    for module in (gates, traffic):
        monkeypatch.setattr(module, "ResourceHook", lambda name, function: function)
        monkeypatch.setattr(module, "ResourceHookBinding", lambda **bound: bound)
    monkeypatch.setattr(gates.pulumi, "warn", texts.append)
    return texts


def drain(name: str, *, required: bool = True, simulated: bool = False) -> None:
    """Drain two workers in turn."""

    async def future() -> str:
        return "access"

    machines = Machines(plan())
    access = SimpleNamespace(future=future)
    rollout = Rollout(machines.plan, machines, access, simulated=simulated)  # type: ignore[arg-type]
    asyncio.run(rollout._drain(name, Options(require_drain=required), None))
    asyncio.run(rollout._drain("web-1", Options(require_drain=required), None))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("web-0", "set pools.web.rollout.require_drain: false"),
        ("old-0", "put pool old back with count: 0 and pools.old.rollout.require_drain: false"),
    ],
)
def test_a_worker_stays_if_the_api_does_not_answer(warned: list[str], name: str, way: str) -> None:
    with pytest.raises(
        RuntimeError, match=f"{name} cannot be drained, because the Kubernetes API does not answer"
    ) as e:
        drain(name)
    assert way in str(e.value)
    assert not warned


@pytest.mark.parametrize("why", [{"required": False}, {"simulated": True}], ids=["allowed", "unbooted sandbox"])
def test_a_worker_is_deleted_undrained_only_where_that_is_allowed(warned: list[str], why: dict[str, bool]) -> None:
    drain("web-0", **why)
    assert len(warned) == 1
    assert "nodes are not drained" in warned[0]
