"""Canaries and the operator's pause: which workers may be deleted. tests/engine tests them with the engine."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.plan import ClusterPlan, plan_cluster
from components.rollout import gates, holds
from components.rollout.gates import Rollout
from components.stack_files.stack import CLUSTER, read_stack, stack_file_config
from tests.components.rollout.test_gates import FAILED, RUNNING, STACK, Machines, arrive, hooks, leave, rolling

__all__ = ["hooks"]


class Clock:
    """A clock that advances only by `sleep`, and runs the events of a table at their seconds."""

    def __init__(self) -> None:
        self.now, self.events = 1000.0, dict[Any, Any]()

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1)
        for second in sorted(self.events):
            if second <= self.now - 1000:
                self.events.pop(second)()
        if self.now > 20_000:
            raise AssertionError("the hook waits for ever")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    fake = SimpleNamespace(sleep=made.sleep, gather=asyncio.gather, Lock=asyncio.Lock)
    for module in (gates, holds):
        monkeypatch.setattr(module, "time", made)
        monkeypatch.setattr(module, "asyncio", fake)
    monkeypatch.setattr(gates, "POLL_SECONDS", 10)
    return made


def plan(canary: str | None, count: int = 5) -> ClusterPlan:
    """Return the plan of aws-prod with only a pool `web`, two of whose workers are replaced at once."""
    config = stack_file_config(STACK)
    rollout = {"max_unavailable": 2, "gate": "registered", "canary": canary}
    web = {**config[CLUSTER]["pools"]["web"], "count": count, "rollout": rollout}
    return plan_cluster(
        "aws-prod", read_stack("aws-prod", {**config, CLUSTER: {**config[CLUSTER], "pools": {"web": web}}}).spec
    )


def canary_arrives(machines: Machines) -> Rollout:
    """Replace web-0, up to the end of its hooks."""
    rollout = rolling(machines, "web-0", "web-1", simulated=False)
    leave(rollout, "web-0")
    arrive(rollout, "web-0")
    return rollout


def test_the_machines_after_a_canary_wait_until_its_time_is_over(clock: Clock) -> None:
    rollout = canary_arrives(Machines(plan("10m")))
    assert 600 <= clock.now - 1000 <= 620
    leave(rollout, "web-1")
    assert [name for name, _ in rollout.__dict__["drained"]] == ["web-0", "web-1"]


def test_only_the_first_machine_is_watched_and_only_if_the_pool_has_a_canary(clock: Clock) -> None:
    canary_arrives(Machines(plan(None)))
    rollout = rolling(Machines(plan("10m")), "web-1", simulated=False)
    leave(rollout, "web-1")
    arrive(rollout, "web-1")
    assert clock.now == 1000


def test_a_canary_that_fails_holds_the_other_machines_although_it_recovers_later(clock: Clock) -> None:
    machines = Machines(plan("10m"))
    clock.events = {200: lambda: machines.records.update({"web-0": RUNNING})}
    rollout = rolling(machines, "web-0", "web-1", simulated=False)
    leave(rollout, "web-0")
    with pytest.raises(RuntimeError, match="the canary web-0 of pool web did not stay ready: i-web-0 reports running"):
        arrive(rollout, "web-0")
    assert 260 <= clock.now - 1000 <= 290
    machines.records.clear()
    with pytest.raises(RuntimeError, match="web-1 was not changed: the canary web-0 of pool web did not stay ready"):
        leave(rollout, "web-1")


def test_a_canary_may_be_unready_for_less_than_a_minute_but_not_at_the_end(clock: Clock) -> None:
    machines = Machines(plan("10m"))
    clock.events = {
        200: lambda: machines.records.update({"web-0": RUNNING}),
        240: lambda: machines.records.clear(),
        590: lambda: machines.records.update({"web-0": FAILED}),
        630: lambda: machines.records.clear(),
    }
    canary_arrives(machines)
    assert clock.now - 1000 >= 630


@pytest.fixture
def pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the operator's pause, which does not exist yet."""
    monkeypatch.setenv(holds.PAUSE_FILE, str(tmp_path / "pause"))
    return tmp_path / "pause"


def test_after_a_pause_the_worker_in_progress_is_finished_and_the_next_one_stays(clock: Clock, pause: Path) -> None:
    rollout = rolling(Machines(plan(None)), "web-0", "web-1", simulated=False)
    leave(rollout, "web-0")
    pause.touch()
    arrive(rollout, "web-0")
    with pytest.raises(RuntimeError, match=r"paused: web-1 was not changed.*roll --resume"):
        leave(rollout, "web-1")
    pause.unlink()
    leave(rollout, "web-1")


def test_a_pause_ends_the_wait_for_another_machine_and_the_watch_of_a_canary(clock: Clock, pause: Path) -> None:
    machines = Machines(plan("1h"))
    clock.events = {100: pause.touch}
    rollout = canary_arrives(machines)
    assert 100 <= clock.now - 1000 <= 120
    pause.unlink()
    machines.records.update({f"web-{index}": RUNNING for index in (2, 3)})
    machines.age *= 0
    clock.now += gates.READY_VALID_SECONDS
    clock.events = {clock.now - 1000 + 50: pause.touch}
    with pytest.raises(RuntimeError, match="paused: web-1 was not changed"):
        leave(rollout, "web-1")


def test_a_spared_worker_is_deleted_although_a_pause_comes_before_its_drain(clock: Clock, pause: Path) -> None:
    rollout = rolling(Machines(plan(None)), "web-0", simulated=False)
    asyncio.run(rollout._spare("web-0"))  # the hook of its load balancer runs first
    pause.touch()
    leave(rollout, "web-0")
