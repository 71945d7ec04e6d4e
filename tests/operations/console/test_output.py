"""Output that cannot be written: the command goes on, and says it at its end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from operations.stacks.paths import REPOSITORY

pytestmark = pytest.mark.subprocess

CODE = """
import sys
from operations.console.output import guarded
with guarded():
    for number in range(3):
        print("x" * 9000, flush=True)
        print("y" * 9000, file=sys.stderr if sys.argv[1] == "both" else sys.stdout)
    open(sys.argv[2], "w").write("done")
    sys.exit(int(sys.argv[3]))
"""


@contextmanager
def full() -> Iterator[int]:
    with Path("/dev/full").open("wb") as file:
        yield file.fileno()


@contextmanager
def left() -> Iterator[int]:
    reads, writes = os.pipe()
    os.close(reads)
    yield writes
    os.close(writes)


@pytest.mark.parametrize(
    ("place", "code", "ends", "said"),
    [(full, 0, 1, "No space left"), (full, 3, 3, "No space left"), (left, 0, 0, ""), (left, 3, 3, "")],
)
def test_what_a_command_does_is_done_whether_it_can_be_printed_or_not(place, code, ends, said, tmp_path: Path) -> None:
    done = tmp_path / "done"
    with place() as output:
        words = [sys.executable, "-c", CODE, "output", str(done), str(code)]
        ended = subprocess.run(words, cwd=REPOSITORY, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert done.read_text() == "done"
    assert ended.returncode == ends
    assert "Traceback" not in ended.stderr
    assert said in ended.stderr
    assert bool(ended.stderr) is bool(said)


def test_a_full_standard_error_stops_nothing_either(tmp_path: Path) -> None:
    with full() as output:
        words = [sys.executable, "-c", CODE, "both", str(tmp_path / "done"), "0"]
        ended = subprocess.run(words, cwd=REPOSITORY, stdout=output, stderr=output, check=False)
    assert (tmp_path / "done").read_text() == "done"
    assert ended.returncode == 1


@pytest.mark.parametrize("words", [("doctor",), ("plan", "aws-dev"), ("--help",)])
def test_no_command_shows_a_traceback_for_it(words: tuple[str, ...]) -> None:
    with full() as output:
        run = [sys.executable, "-m", "operations", *words]
        ended = subprocess.run(run, cwd=REPOSITORY, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("mullion: standard output: ")
    assert "Traceback" not in ended.stderr
