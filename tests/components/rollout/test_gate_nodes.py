"""Gates and the cluster's Nodes: a status record alone passes no gate."""

from datetime import timedelta
from typing import Any

import pytest

from tests.components.rollout.test_gates import FAILED, Machines, hooks, leave, plan, rolling

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
    rollout._nodes = nodes(**{"web-1": True} | ({} if ready is None else {"web-2": ready}))  # type: ignore[method-assign]
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
    rollout._nodes = nodes(**{"web-1": True})  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="web-2: i-web-2 reports failed kubelet/kubelet-runs it stopped"):
        leave(rollout, "web-0")


def nodes(**ready: bool) -> Any:
    """Return a function in place of `Rollout._nodes` that returns these Nodes."""

    async def found(_: Any) -> dict[str, bool]:
        return ready

    return found
