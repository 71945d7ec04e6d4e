"""Whole Windows nodes: the product's own plans under PowerShell for Windows, from a fresh disk to Ready (OPS-01)."""

from pathlib import Path

import pytest

from tests.cloud_init.windows import new_machine
from tests.windows_node.combinations import COMBINATIONS, CUT, FOUR, rendered
from tests.windows_node.end import asked, differences, record, state
from tests.windows_node.server import node, outcomes, restarts
from tests.windows_node.site import TOKEN, Site

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
SHORT = set(FOUR) - {CUT}
NAMES = [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.soak]) for name in COMBINATIONS]


def holding(folder: Path, text: str) -> list[str]:
    """Files below the folder that hold the text in any encoding of Windows."""
    wanted = (text.encode(), text.encode("utf-16-le"))
    return [
        str(file)
        for file in folder.rglob("*")
        if file.is_file() and not file.is_symlink() and any(each in file.read_bytes() for each in wanted)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_node_becomes_ready_in_one_restart_and_a_second_run_sets_nothing_and_it_is_what_its_golden_says(
    name: str, winpwsh: str, place: Site, standins: Path, tmp_path: Path
) -> None:
    made = rendered(name, place.mirror, standins)
    place.publish(made)
    fresh = new_machine(winpwsh, tmp_path / "fresh").folder
    with node(winpwsh, place, tmp_path / "machine", made) as here:
        first = here.power_on()
        assert first and first["state"] == "done", (first, here.log())
        assert restarts(here) == 1, "for the name, the feature and the page file together"
        fetched = [each.name for each in place.downloads.asked]
        assert sorted(fetched) == sorted(made.files), "each download once"
        second = here.run()
        assert second
        assert {step for step, outcome in outcomes(second).items() if outcome != "held"} == set()
        assert here.status()["state"] == "ready", "the status record"
        said = here.log()
        here.off()
        assert not place.api.refused
        assert not holding(here.machine.drive / "k", TOKEN), "a member needs no token, and keeps none"
        assert not holding(here.machine.drive / "ProgramData", TOKEN)
        assert TOKEN not in said
        found = {**state(here, fresh), "asked": asked(here)}
        record(name, found)
        wrong = differences(name, found)
        assert not wrong, "\n".join(wrong)
