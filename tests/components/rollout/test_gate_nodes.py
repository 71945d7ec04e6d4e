"""Gates and the cluster's Nodes: a status record alone passes no gate."""

from datetime import timedelta
from typing import Any

import pytest

from tests.components.rollout.test_gates import ABSENT, FAILED, Machines, arrive, hooks, leave, plan, rolling

__all__ = ["hooks"]


@pytest.mark.parametrize(
    ("gate", "ready", "why"),
    [
        ("registered", None, "the cluster has no Node of this name"),
        ("ready", None, "the cluster has no Node of this name"),
        ("registered", False, ""),
        ("ready", False, "its Node is not Ready"),
        ("ready", True, ""),
    ],
)
def test_a_ready_record_without_a_node_of_that_name_passes_no_gate(gate: str, ready: bool | None, why: str) -> None:
    rollout = rolling(Machines(plan(gate=gate)), "web-0")
    rollout._nodes = nodes(**{"web-0": True, "web-1": True} | ({} if ready is None else {"web-2": ready}))  # type: ignore[method-assign]
    if not why:
        leave(rollout, "web-0")
        return
    with pytest.raises(RuntimeError, match=f"web-2: {why}"):
        leave(rollout, "web-0")


def test_a_failed_record_says_why_a_node_is_missing_and_ends_the_wait_if_it_is_final() -> None:
    """The machine was launched just now: without its record the run would wait half an hour for the Node."""
    final = {**FAILED, "name": "build-refused"}
    machines = Machines(plan(), {"web-2": final}, age=timedelta(0))
    rollout = rolling(machines, "web-0", simulated=False)
    rollout._nodes = nodes(**{"web-0": True, "web-1": True})  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="web-2: i-web-2 reports failed kubelet/kubelet-runs it stopped"):
        leave(rollout, "web-0")


def test_lost_workers_are_replaced_in_turn_although_others_are_lost_too() -> None:
    """With `max_unavailable: 1` two dead workers would otherwise keep each other from being replaced."""
    rollout = rolling(Machines(plan(gate="ready")), "web-0", "web-1", "web-2")
    rollout._nodes = nodes(**{"web-0": False, "web-2": True})  # type: ignore[method-assign]
    leave(rollout, "web-0")
    arrived = nodes(**{"web-0": True, "web-2": True})
    rollout._nodes = arrived  # type: ignore[method-assign]
    arrive(rollout, "web-0")
    leave(rollout, "web-1")
    assert [name for name, _ in rollout.__dict__["drained"]] == ["web-0", "web-1"]
    with pytest.raises(RuntimeError, match="pool web cannot spare web-2"):
        leave(rollout, "web-2")


def test_no_lost_worker_is_replaced_after_one_whose_successor_is_not_ready() -> None:
    """A pool that lost its network would otherwise be replaced whole, and its pods with it."""
    rollout = rolling(Machines(plan(gate="ready"), age=timedelta(hours=2)), "web-0", "web-1")
    rollout._nodes = nodes(**dict.fromkeys(("web-0", "web-1", "web-2"), False))  # type: ignore[method-assign]
    leave(rollout, "web-0")
    with pytest.raises(RuntimeError, match="web-0 is not ready: its Node is not Ready"):
        arrive(rollout, "web-0")
    with pytest.raises(RuntimeError, match=r"web-0: its Node is not Ready.*replaced in this run: web-0 \(not ready\)"):
        leave(rollout, "web-1")


def test_a_worker_without_an_instance_is_lost_and_one_without_a_status_record_is_not() -> None:
    machines = Machines(plan(), {"web-1": ABSENT, "web-2": FAILED}, stopped={"web-0"})
    leave(rolling(machines, "web-0"), "web-0")
    machines.stopped.clear()
    with pytest.raises(RuntimeError, match="pool web cannot spare web-1"):
        leave(rolling(machines, "web-1"), "web-1")


def nodes(**ready: bool) -> Any:
    """Return a function in place of `Rollout._nodes` that returns these Nodes."""

    async def found(_: Any) -> dict[str, bool]:
        return ready

    return found
