"""Which failed runs of a machine end a roll, and how long the gates wait for the others."""

import itertools
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest

from components.rollout import failed_runs
from tests.components.rollout.test_gates import (
    FAILED,
    READY,
    RUNNING,
    STACK,
    Answers,
    Machines,
    arrive,
    hooks,
    leave,
    plan,
    rolling,
)

__all__ = ["hooks"]


def test_the_run_waits_for_a_booting_machine_that_repeats_a_failed_run() -> None:
    """The loader runs again a minute after a failure, such as a package archive that did not answer."""
    machines = Machines(plan(), age=timedelta(minutes=3))
    rollout = rolling(machines, "web-0", simulated=False)
    leave(rollout, "web-0")
    answers = iter([RUNNING, FAILED, FAILED, RUNNING, READY])
    machines.records = Answers({"web-0": answers})  # type: ignore[assignment]
    arrive(rollout, "web-0")
    assert list(answers) == []


def test_the_next_deletion_waits_minutes_for_an_old_machine_that_repeats_a_failed_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It restarted, and its first run after that failed."""
    machines = Machines(plan())
    machines.records = Answers({"web-0": iter([FAILED, RUNNING, READY])})  # type: ignore[assignment]
    leave(rolling(machines, "web-1", simulated=False), "web-1")
    assert machines.reads.count("i-web-0") == 3

    clock = itertools.count(0.0, 100.0)
    monkeypatch.setattr(failed_runs, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    machines.records, machines.reads = {"web-0": FAILED}, []
    with pytest.raises(RuntimeError, match="pool web cannot spare web-1"):
        leave(rolling(machines, "web-1", simulated=False), "web-1")
    assert machines.reads.count("i-web-0") < 5


def test_a_repeated_run_of_an_old_machine_is_waited_for_while_its_node_is_not_ready() -> None:
    """The record says `failed`, then `running`; the Node stays NotReady until the second run has ended."""
    machines = Machines(plan(gate="ready"))
    machines.records = Answers({"web-0": iter([FAILED, RUNNING, READY])})  # type: ignore[assignment]
    rollout = rolling(machines, "web-1", simulated=False)
    ready = itertools.chain([False] * 3, itertools.repeat(True))

    async def nodes(_: object) -> dict[str, bool]:
        return {"web-0": next(ready), "web-1": True, "web-2": True}

    rollout._nodes = nodes  # type: ignore[method-assign]
    leave(rollout, "web-1")
    assert machines.reads.count("i-web-0") == 3


def test_failures_that_end_a_roll_are_those_that_no_repetition_mends() -> None:
    errors = json.loads((STACK.parents[1] / "cloud-init" / "errors.json").read_text())["errors"]
    never_repeated = {each["name"] for each in errors if not each["retry"]}
    waits = {"wait-timeout", "locked", "pod-range-missing", "overlay-missing", "adapter-missing"}
    of_services = {"runtime-down", "kubelet-down", "flanneld-down", "proxy-down", "node-unregistered", "node-not-ready"}
    assert never_repeated - waits - of_services == failed_runs.FINAL
