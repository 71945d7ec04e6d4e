"""Power goes in the middle of a Windows node's way: the next boots finish it, and the end is that of an uncut one."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cloud_init.windows import new_machine
from tests.windows_node.combinations import CUT, FOUR, rendered
from tests.windows_node.end import differences, state
from tests.windows_node.server import Node, node, outcomes
from tests.windows_node.site import Site

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
SEED = int(os.environ.get("MULLION_SEED") or random.SystemRandom().randrange(10**6))
SAMPLED = 3
"""Phase ends that `make test` cuts at, of one combination; `make soak` has all of all four."""


def phases(here: Node) -> list[str]:
    """Phases that another one follows."""
    return [each["name"] for each in here.made.plan.document()["phases"]][:-1]


def cut_at_phase_ends(here: Node, names: list[str]) -> int:
    """One boot for each, whose power goes when the phase is over."""
    for name in names:
        assert here.power_on(phases=[name]) is None, f"the power did not go after {name}: {here.log()}"
        here.off()
    return len(names)


def cut_at_steps(here: Node) -> int:
    """Boot after boot, whose power goes once a step was set that was not set in an earlier one."""
    spared = ["-"]
    while here.power_on(spared=spared) is None:
        spared.append((here.driver.jobs / "cut").read_text())
        here.off()
    return len(spared) - 1


def cut_in_downloads(here: Node) -> int:
    """One boot for each download, whose power goes in its middle."""
    downloads = here.site.downloads
    for wanted in here.made.files:
        downloads.on_body = lambda name, wanted=wanted: here.driver.kill() if name == wanted else None
        found = here.power_on()
        downloads.on_body = None
        assert found is None, f"{wanted} was not fetched: {here.log()}"
        here.off()
    return len(here.made.files)


def finished(here: Node, fresh: Path, name: str) -> None:
    """The next boots end well, a further run sets nothing, and the node is what the golden of the uncut one says."""
    result = here.power_on()
    assert result and result["state"] == "done", (result, here.log())
    second = here.run()
    assert second
    assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
    here.off()
    wrong = differences(name, state(here, fresh))
    assert not wrong, "\n".join(wrong)


def test_power_that_goes_at_phase_ends_costs_nothing_but_time(
    winpwsh: str, place: Site, standins: Path, tmp_path: Path
) -> None:
    made = rendered(CUT, place.mirror, standins)
    place.publish(made)
    fresh = new_machine(winpwsh, tmp_path / "fresh").folder
    with node(winpwsh, place, tmp_path / "machine", made) as here:
        all_of_them = phases(here)
        chosen = sorted(random.Random(SEED).sample(range(len(all_of_them)), SAMPLED))
        print(f"MULLION_SEED={SEED}: {[all_of_them[each] for each in chosen]}")  # noqa: T201 - shown where it fails
        cut_at_phase_ends(here, [all_of_them[each] for each in chosen])
        finished(here, fresh, CUT)


@pytest.mark.soak
@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("way", ["phases", "steps", "downloads"])
def test_power_that_goes_anywhere_costs_nothing_but_time(
    name: str,
    way: str,
    winpwsh: str,
    place: Site,
    standins: Path,
    tmp_path: Path,
    record_property: Callable[[str, int], None],
) -> None:
    made = rendered(name, place.mirror, standins)
    place.publish(made)
    fresh = new_machine(winpwsh, tmp_path / "fresh").folder
    with node(winpwsh, place, tmp_path / "machine", made) as here:
        ways = {
            "phases": lambda: cut_at_phase_ends(here, phases(here)),
            "steps": lambda: cut_at_steps(here),
            "downloads": lambda: cut_in_downloads(here),
        }
        record_property("power cuts of Windows nodes", ways[way]())
        finished(here, fresh, name)
