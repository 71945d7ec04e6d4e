"""Python's collector is a program's, never a library's."""

import subprocess
import sys

import pytest

from components.sdk.garbage import THRESHOLDS


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("program", "rarely"),
    [
        ("import components.cluster, components.aws", False),
        ("import sys; sys.argv = ['mullion', '--help']; from operations.__main__ import main; main()", True),
    ],
    ids=["a program that uses the component", "mullion"],
)
def test_garbage_collection_is_rare_in_mullion_and_unchanged_in_other_programs(program: str, rarely: bool) -> None:
    told = f"import atexit, gc; atexit.register(lambda: print(*gc.get_threshold())); {program}"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    said = tuple(map(int, done.stdout.splitlines()[-1].split()))
    assert (said == THRESHOLDS) is rarely
