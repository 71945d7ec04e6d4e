"""Calls of a cloud's API by the gates, and what a roll says when they fail."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from components.plan import ClusterPlan, Machine
from components.rollout import instance_reads
from components.rollout.gates import Rollout
from components.rollout.provider_calls import MachineState, ProviderError, RecordsByMachine
from tests.components.rollout.test_gates import RUNNING, Known, args, arrive, hooks, leave, plan, rolling

__all__ = ["hooks"]

THROTTLED = "Code=TooManyRequests: The request is being throttled as the limit has been reached"


@dataclass(frozen=True, kw_only=True)
class Counted(RecordsByMachine):
    """A cloud where each machine is one call, which takes a moment; counts the calls."""

    calls: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    limit: int = 10**6

    async def find(self, machine: Machine) -> MachineState | None:
        if len(self.calls) >= self.limit:
            raise ProviderError(THROTTLED)
        self.calls.append(machine.name)
        await asyncio.sleep(0.001)
        return None if machine.name in self.gone else MachineState(f"i-{machine.name}", "2026-01-01T00:00:00Z", True)

    async def instance(self, args: Any) -> str:
        return args.id

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        return self.states.get(instance, {"state": "ready"})

    async def text(self, key: str) -> str:
        raise AssertionError(f"{key} is read through `record` alone")

    async def place(self, plan: ClusterPlan, machine: Machine) -> None:
        raise AssertionError("no gate connects to a machine")


def _large() -> tuple[Rollout, Counted, list[str]]:
    """Return a pool of 100 machines, of which 10 may be replaced at a time, and these 10."""
    planned = plan(count=100, unavailable=10)
    cloud = Counted(parent=None, planned=planned.machines)  # type: ignore[arg-type]
    names = [f"web-{index}" for index in range(10)]
    return rolling(cloud, *names, of=planned), cloud, names


def test_ten_deletions_at_once_read_each_machine_of_the_pool_once() -> None:
    rollout, cloud, names = _large()
    leave(rollout, *names)
    assert len(rollout.__dict__["drained"]) == 10
    assert sorted(cloud.calls) == sorted(f"web-{index}" for index in range(100)), "no control plane, and none twice"


def test_a_later_deletion_reads_the_machines_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rollout, cloud, _ = _large()
    rollout.watch("aws-prod-web-50", Known(answered=False))  # type: ignore[arg-type]
    leave(rollout, "web-0")
    cloud.gone.update(f"web-{index}" for index in range(10, 30))
    monkeypatch.setattr(instance_reads, "VALID_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match=r"pool web cannot spare web-50, .*web-10: it has no instance"):
        leave(rollout, "web-50")


def test_a_machine_that_this_run_has_created_is_not_looked_for_in_an_earlier_read() -> None:
    rollout, cloud, names = _large()
    cloud.gone.add("web-0")
    leave(rollout, "web-0")
    cloud.gone.clear()
    arrive(rollout, "web-0")
    leave(rollout, *names[1:])
    assert len(rollout.__dict__["drained"]) == 10
    assert cloud.calls.count("web-0") == 2


def test_a_read_that_began_before_a_machine_was_created_does_not_count() -> None:
    _, cloud, _ = _large()
    reads = instance_reads.InstanceReads(cloud)
    cloud.gone.add("web-3")

    async def meanwhile() -> None:
        await asyncio.sleep(0)
        cloud.gone.clear()
        reads.changed("web")

    async def both() -> int:
        found, _ = await asyncio.gather(reads.of("web"), meanwhile())
        return len(found.running)

    assert asyncio.run(both()) == 100


def test_a_throttled_call_stops_a_roll_with_its_usual_words() -> None:
    planned = plan()
    cloud = Counted(parent=None, planned=planned.machines, limit=0)  # type: ignore[arg-type]
    rollout = rolling(cloud, "web-0", of=planned)
    said = r"pool web cannot spare web-0, because .*TooMany.* were not changed; replaced in this run: none\. Run"
    with pytest.raises(RuntimeError, match=said):
        leave(rollout, "web-0")


def test_after_a_throttled_call_no_other_worker_of_the_pool_is_replaced() -> None:
    planned = plan()
    cloud = Counted(parent=None, planned=planned.machines)  # type: ignore[arg-type]
    rollout = rolling(cloud, "web-0", "web-1", of=planned, simulated=False)
    leave(rollout, "web-0")
    cloud.states["i-new"], find = RUNNING, cloud.find

    async def throttled(machine: Machine) -> MachineState | None:
        raise ProviderError(THROTTLED)

    object.__setattr__(cloud, "find", throttled)
    created = args("web-0")
    created.id = "i-new"
    with pytest.raises(RuntimeError, match=r"web-0 is not ready: .*TooManyRequests.*pool web is replaced in this run"):
        asyncio.run(rollout.hooks["after_create"][0](created))  # type: ignore[index]
    object.__setattr__(cloud, "find", find)
    cloud.states.clear()
    with pytest.raises(RuntimeError, match=r"web-1 was not changed: web-0 is not ready: .*TooManyRequests"):
        leave(rollout, "web-1")


def test_an_additional_worker_is_not_looked_for_in_an_earlier_read() -> None:
    rollout, cloud, names = _large()
    cloud.gone.add("web-99")
    leave(rollout, names[0])
    cloud.gone.clear()
    arrive(rollout, "web-99")
    leave(rollout, *names[1:])
    assert cloud.calls.count("web-99") == 2
