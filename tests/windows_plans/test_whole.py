"""Whole Windows nodes: the product's own plans under PowerShell for Windows, from a fresh disk to Ready (OPS-01)."""

from pathlib import Path

import pytest

from sandbox.boot.windows.winpwsh import new_machine
from tests.windows_plans.becoming import becomes_ready
from tests.windows_plans.combinations import COMBINATIONS, CUT, FOUR, VETERAN, rendered
from tests.windows_plans.server import node
from tests.windows_plans.site import NodeNetwork

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
SHORT = set(FOUR) - {CUT, VETERAN}
NAMES = [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.soak]) for name in COMBINATIONS]


@pytest.mark.parametrize("name", NAMES)
def test_a_node_becomes_ready_with_one_restart_and_a_second_run_sets_nothing_and_its_state_equals_its_golden(
    name: str, winhns: str, place: NodeNetwork, standins: Path, tmp_path: Path
) -> None:
    rendering = rendered(name, place.mirror, standins)
    place.publish(rendering)
    fresh = new_machine(winhns, tmp_path / "fresh").folder
    with node(winhns, place, tmp_path / "machine", rendering) as worker:
        becomes_ready(worker, name, fresh)
