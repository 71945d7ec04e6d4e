"""Events of Windows nodes that were ready: each run succeeds, or fails with the number of its error."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import new_machine
from tests.conformance.judge import CODES
from tests.windows_plans.becoming import becomes_ready
from tests.windows_plans.combinations import VETERAN, rendered
from tests.windows_plans.events import EVENTS, SHORT, Event
from tests.windows_plans.health import problems
from tests.windows_plans.server import Node, node, outcomes, steps
from tests.windows_plans.site import NodeNetwork

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
NAMES = [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.soak]) for name in EVENTS]


@pytest.fixture(scope="module")
def veteran(
    winhns: str, place: NodeNetwork, standins: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    """Return a ready node that is off; each event starts with the state that the previous one left."""
    rendering = rendered(VETERAN, place.mirror, standins)
    place.publish(rendering)
    folder = tmp_path_factory.mktemp("veteran")
    fresh = new_machine(winhns, folder / "fresh").folder
    with node(winhns, place, folder / "machine", rendering) as worker:
        becomes_ready(worker, VETERAN, fresh)
        yield worker


def planned(worker: Node, event: Event) -> dict[str, Any]:
    """Return the plan with the event's timeouts."""
    plan, others = copy.deepcopy(worker.made.plan.document()), dict(event.seconds)
    for step in steps(plan):
        if step["name"] in others:
            step["timeout_seconds"] = others[step["name"]]
    return plan


@pytest.mark.parametrize("name", NAMES)
def test_a_run_after_an_event_on_a_ready_node_succeeds_or_fails_with_its_own_number(name: str, veteran: Node) -> None:
    event = EVENTS[name]
    if event.on and not veteran.is_on:
        veteran.power_on()
    if veteran.is_on and not event.on:
        veteran.off()
    veteran.take(planned(veteran, event))
    event.happens(veteran)
    result = veteran.run() if event.on else veteran.power_on()
    assert result
    try:
        if event.fails:
            failure = (result["state"], result.get("name"), result["code"], result["step"])
            assert failure == ("failed", event.fails, CODES[event.fails], event.at), (result, veteran.log())
            assert veteran.status()["state"] == "failed"
        else:
            assert result["state"] == "done", (result, veteran.log())
            assert not list(problems(veteran))
            assert {step for step, outcome in outcomes(result).items() if outcome == "set"} <= set(event.sets)
            assert not veteran.node_network.api.refused
    finally:
        veteran.recover()
