"""A worker leaves its load balancers only once its pool can spare it, and is deleted once they send it nothing."""

import asyncio
from typing import Any

import pytest

from components.rollout import traffic
from components.rollout.gates import Rollout
from tests.components.rollout.test_gates import FAILED, Known, Machines, args, hooks, leave, plan, rolling

__all__ = ["hooks"]


def unlist(rollout: Rollout, name: str) -> None:
    """Run the before-delete hook of a machine's membership in the targets of a load balancer."""
    [hook] = rollout.traffic.hooks["before_delete"]  # type: ignore[index]
    asyncio.run(hook(args(f"ingress-front-30080.{name}")))


def test_a_worker_stays_behind_its_load_balancers_while_another_is_not_ready() -> None:
    rollout = rolling(Machines(plan(), {"web-2": FAILED}), "web-0")
    with pytest.raises(RuntimeError, match="pool web cannot spare web-0"):
        unlist(rollout, "web-0")


def test_a_worker_that_stays_leaves_a_load_balancer_at_once() -> None:
    rollout = rolling(Machines(plan(), {"web-2": FAILED}))
    rollout.watch("aws-prod-web-0", Known(answered=True))  # type: ignore[arg-type]
    unlist(rollout, "web-0")


def test_a_failed_drain_says_that_the_worker_has_left_its_load_balancers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def blocked(*_: Any) -> None:
        raise RuntimeError("pods remain")

    monkeypatch.setattr(Rollout, "_drain", blocked)
    rollout = rolling(Machines(plan()), "web-0")
    unlist(rollout, "web-0")
    with pytest.raises(RuntimeError, match=r"pods remain\. web-0 has left its load balancers"):
        leave(rollout, "web-0")


def test_a_worker_is_deleted_once_its_load_balancers_send_it_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[float]()

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    rollout = rolling(Machines(plan()), "web-0", simulated=False)
    unlist(rollout, "web-0")
    monkeypatch.setattr(traffic.asyncio, "sleep", wait)
    leave(rollout, "web-0")
    assert len(waits) == 1 and 100 < waits[0] <= 120
