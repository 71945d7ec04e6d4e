"""The network watch restarts an executor that ended before it finished its plan in this boot."""

import json

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, Machine
from tests.cloud_init.watched_node import LOADED, MADE, STATE, change, log, looks, memory, node, starts

__all__ = ["node"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

NOTHING = "$null = 0"
HOUR_LATER = "$Limits['executor'] = 3, 1; Start-Sleep -Seconds 2"
"""Makes the starts of the last hour count as older."""
LIVES = "Save-Beginning"
"""The process that looks is the one that runs the plan."""


def died(machine: Machine) -> None:
    """Let a process begin the plan and end."""
    assert machine.pwsh(f"{LOADED}; {LIVES}; $global:LASTEXITCODE = 0") == (0, "")


def test_a_died_executor_is_started_at_the_second_look_at_most_three_times_an_hour(node: Machine) -> None:
    machine_file = node.path(rf"{STATE}\result.json")
    machine_file.write_text(json.dumps({"state": "done"}))  # of an earlier run
    died(node)
    looks(node, MADE)
    assert starts(node) == 0, "its task may be about to start"
    looks(node, *[NOTHING] * 5)
    assert starts(node) == 3
    looks(node, *[NOTHING] * 4)
    assert starts(node) == 3, "the fourth start within an hour waits"
    assert log(node).count("3 repairs (executor) within 3600 s did not help, the next one waits") == 1
    assert log(node).count("the executor is started: the executor ended before it finished its plan") == 3
    looks(node, HOUR_LATER)
    assert starts(node) == 4, "the fourth start follows later"


def test_an_executor_that_runs_or_has_finished_is_not_started(node: Machine) -> None:
    looks(node, f"{MADE}; {LIVES}", *[NOTHING] * 3)
    assert starts(node) == 0, "between two tries the lock is free, but the process lives"
    died(node)
    looks(node, f"{LOADED}; Save-Finish", *[NOTHING] * 3)
    assert starts(node) == 0
    assert memory(node)["watch"]["looks"] == 4, "these look at the network"


def test_an_executor_is_started_after_a_boot_whose_task_did_not_start_it(node: Machine) -> None:
    place = node.path(rf"{STATE}\state.json")
    place.write_text(json.dumps(memory(node) | {"finished": 2}))
    looks(node, MADE, NOTHING)
    assert starts(node) == 1


def test_a_fourth_query_that_hangs_within_an_hour_is_followed_by_a_start_later(node: Machine) -> None:
    looks(node, MADE)
    change(node, r"modules\deadline", "$QuerySeconds = 120", "$QuerySeconds = 4")
    hung = node.path(BOOKS) / "wmi.json"
    hung.write_text(json.dumps({"hangs": True, "error": "", "cmdlets": ["Get-NetRoute"]}))
    for _ in range(4):
        assert node.node()[0] not in (0, 1, 2), "the process was ended"
        looks(node, NOTHING)
    assert starts(node) == 3
    hung.unlink()
    looks(node, NOTHING, HOUR_LATER)
    assert starts(node) == 4
