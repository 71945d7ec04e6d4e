"""Power goes in the middle of a Windows node's way: the next boots finish it, and the end is that of an uncut one."""

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
"""Parts of a plan whose steps have a test and a machine of their own: each ends in some minutes."""
HOLD_SECONDS = 60.0
"""Longest that a download waits for the cut of another."""
SAMPLED = 4
"""Phases, drawn by chance, after which `make test` cuts: each is a boot of some seconds. Soak takes them all."""


def cut_at_phase_ends(here: Node, count: int = 0) -> int:
    """One boot for each phase that another follows (`count`: so many of them), whose power goes when it is over."""
    names = [each["name"] for each in here.made.plan.document()["phases"]][:-1]
    drawn = random.Random(SEED).sample(names, count or len(names))
    print(f"MULLION_SEED={SEED}: {drawn}")  # noqa: T201 - shown where it fails
    for name in sorted(drawn, key=names.index):
        assert here.power_on(phases=[name]) is None, f"the power did not go after {name}: {here.log()}"
        here.off()
    return len(drawn)


def cut_at_steps(here: Node, piece: int) -> int:
    """Boot after boot, whose power goes once a step of the piece was set that was not set in an earlier one."""
    names = [each["name"] for each in steps(here.made.plan.document())]
    first, last = (len(names) * end // PIECES for end in (piece, piece + 1))
    others = ["-", *names[:first], *names[last:]]
    cut: list[str] = []
    while here.power_on(spared=[*others, *cut]) is None:
        cut.append((here.driver.jobs / "cut").read_text())
        here.off()
    here.off()
    return len(cut)


def cut_in_downloads(here: Node) -> int:
    """One boot for each download: the power goes in the middle of the first that was not cut yet; others wait."""
    downloads, cut = here.node_network.downloads, list[str]()
    while True:
        halved: list[str] = []
        downloads.on_body = _power_goes(here, cut, halved)
        found = here.power_on()
        downloads.on_body = None
        here.off()
        if not halved:
            assert sorted(cut) == sorted(here.made.files)
            return len(cut)
        assert found is None, f"{halved[0]} was cut: {found}"
        cut.append(halved[0])


def _power_goes(here: Node, cut: list[str], halved: list[str]) -> Callable[[str], None]:
    """What happens when half of a file is sent; `halved` gets the files, the one that is cut first."""
    gone, one_at_a_time = threading.Event(), threading.Lock()

    def half(name: str) -> None:
        if name in cut:
            return
        with one_at_a_time:
            halved.append(name)
            is_first = len(halved) == 1
        if is_first:
            here.machine.cut()
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
"""What `make test` has of it, on one combination; the others are for `make soak`."""
ROWS = [
    *(pytest.param(CUT, way) for way in SHORT),
    *(pytest.param(name, way, marks=[pytest.mark.soak]) for name in FOUR for way in WAYS),
]


@pytest.mark.parametrize(("name", "way"), ROWS)
def test_power_that_goes_anywhere_costs_nothing_but_time(
    name: str,
    way: str,
    winpwsh: str,
    place: NodeNetwork,
    standins: Path,
    tmp_path: Path,
    record_property: Callable[[str, int], None],
) -> None:
    made = rendered(name, place.mirror, standins)
    place.publish(made)
    fresh = new_machine(winpwsh, tmp_path / "fresh").folder
    with node(winpwsh, place, tmp_path / "machine", made) as here:
        cuts = (WAYS | SHORT)[way](here)
        assert cuts
        record_property("power cuts of Windows nodes", cuts)
        # the next boots end well, a further run sets nothing, and the node is what the golden of the uncut one says
        result = here.power_on()
        assert result and result["state"] == "done", (result, here.log())
        second = here.run()
        assert second
        assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
        here.off()
        wrong = differences(name, state(here, fresh))
        assert not wrong, "\n".join(wrong)
