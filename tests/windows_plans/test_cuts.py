"""Power cuts during a Windows node's set-up: the next boots complete it, with the same end state as without cuts."""

import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sandbox.boot.windows.winpwsh import new_machine
from tests.seed import SEED
from tests.windows_plans.combinations import CUT, FOUR, rendered
from tests.windows_plans.end import differences, state
from tests.windows_plans.server import Node, node, outcomes, steps
from tests.windows_plans.site import NodeNetwork

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
PIECES = 4
"""Parts into which a plan's steps are split; each part has its own test and machine, and takes some minutes."""
HOLD_SECONDS = 60.0
"""Seconds for which a download waits until another one is cut."""
SAMPLED = 4
"""Number of phases, drawn at random, after which `make test` cuts: each costs a boot. `make soak` cuts after all."""


def cut_at_phase_ends(worker: Node, count: int = 0) -> int:
    """Boot once per phase except the last (`count`: for this many phases), and cut the power after the phase."""
    names = [each["name"] for each in worker.made.plan.document()["phases"]][:-1]
    drawn = random.Random(SEED).sample(names, count or len(names))
    print(f"MULLION_SEED={SEED}: {drawn}")  # noqa: T201 - shown if the test fails
    for name in sorted(drawn, key=names.index):
        assert worker.power_on(phases=[name]) is None, f"the power was not cut after {name}: {worker.log()}"
        worker.off()
    return len(drawn)


def cut_at_steps(worker: Node, piece: int) -> int:
    """Boot repeatedly; cut the power after the first step of the piece that no earlier boot set."""
    names = [each["name"] for each in steps(worker.made.plan.document())]
    first, last = (len(names) * end // PIECES for end in (piece, piece + 1))
    others = ["-", *names[:first], *names[last:]]
    cut: list[str] = []
    while worker.power_on(spared=[*others, *cut]) is None:
        cut.append((worker.driver.jobs / "cut").read_text())
        worker.off()
    worker.off()
    return len(cut)


def cut_in_downloads(worker: Node) -> int:
    """Boot once per download; cut the power in the middle of one that was not cut yet, while the others wait."""
    downloads, cut = worker.node_network.downloads, list[str]()
    while True:
        halved: list[str] = []
        downloads.on_body = _power_goes(worker, cut, halved)
        result = worker.power_on()
        downloads.on_body = None
        worker.off()
        if not halved:
            assert sorted(cut) == sorted(worker.made.files)
            return len(cut)
        assert result is None, f"{halved[0]} was cut: {result}"
        cut.append(halved[0])


def _power_goes(worker: Node, cut: list[str], halved: list[str]) -> Callable[[str], None]:
    """Return the callback for half-sent files; `halved` gets their names, the cut one first."""
    gone, one_at_a_time = threading.Event(), threading.Lock()

    def half(name: str) -> None:
        if name in cut:
            return
        with one_at_a_time:
            halved.append(name)
            is_first = len(halved) == 1
        if is_first:
            worker.machine.cut()
            gone.set()
        else:
            gone.wait(HOLD_SECONDS)

    return half


WAYS: dict[str, Callable[[Node], int]] = {
    "phases": cut_at_phase_ends,
    "downloads": cut_in_downloads,
    **{f"steps-{piece + 1}-of-{PIECES}": partial(cut_at_steps, piece=piece) for piece in range(PIECES)},
}
SHORT = {"some-phases": partial(cut_at_phase_ends, count=SAMPLED)}
"""Kinds of cuts in `make test`, on one combination; `make soak` has the others."""
ROWS = [
    *(pytest.param(CUT, way) for way in SHORT),
    *(pytest.param(name, way, marks=[pytest.mark.soak]) for name in FOUR for way in WAYS),
]


@pytest.mark.parametrize(("name", "way"), ROWS)
def test_a_node_becomes_ready_as_without_cuts_after_power_cuts_anywhere(
    name: str,
    way: str,
    winhns: str,
    place: NodeNetwork,
    standins: Path,
    tmp_path: Path,
    record_property: Callable[[str, int], None],
) -> None:
    rendering = rendered(name, place.mirror, standins)
    place.publish(rendering)
    fresh = new_machine(winhns, tmp_path / "fresh").folder
    with node(winhns, place, tmp_path / "machine", rendering) as worker:
        cuts = (WAYS | SHORT)[way](worker)
        assert cuts
        record_property("power cuts of Windows nodes", cuts)
        # the next boots succeed, a further run sets nothing, and the node equals the golden of the uncut node
        result = worker.power_on()
        assert result and result["state"] == "done", (result, worker.log())
        second = worker.run()
        assert second
        assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
        worker.off()
        wrong = differences(name, state(worker, fresh))
        assert not wrong, "\n".join(wrong)
