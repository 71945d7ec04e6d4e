"""Mullion's programs set the thresholds of Python's garbage collector; importing its packages does not."""

import subprocess
import sys

import pytest

from components.sdk.garbage import THRESHOLDS


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("program", "rarely"),
    [
        ("import components.cluster, components.aws.cluster", False),
        ("import sys; sys.argv = ['mullion', '--help']; from operations.__main__ import main; main()", True),
    ],
    ids=["a program that uses the component", "mullion"],
)
def test_garbage_collection_is_rare_in_mullion_and_unchanged_in_other_programs(program: str, rarely: bool) -> None:
    code = f"import atexit, gc; atexit.register(lambda: print(*gc.get_threshold())); {program}"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert not process.returncode, process.stderr
    thresholds = tuple(map(int, process.stdout.splitlines()[-1].split()))
    assert (thresholds == THRESHOLDS) is rarely


@pytest.mark.subprocess
def test_plan_runs_and_exits_without_a_garbage_collection() -> None:
    code = """
import atexit, gc, sys
from operations.__main__ import main

started = []
gc.callbacks.append(lambda phase, facts: started.append(gc.get_threshold()) if phase == "start" else None)
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 50_000))
atexit.register(lambda: print(started))
sys.argv = ["mullion", "plan", "aws-prod"]
main()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert not process.returncode, process.stderr
    collected, frozen = process.stdout.splitlines()[-2:]
    assert (collected, frozen) == ("[]", "frozen True")
