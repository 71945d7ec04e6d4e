"""The engine's process: its output, and what happens to it if `mullion` is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pulumi import automation as auto

from operations.engine import engine_record, process
from operations.engine.locate import Engine, Origin
from operations.stacks import target
from tests.awaited import until

pytestmark = pytest.mark.subprocess

PRINTS = """#!/bin/bash
for at in {1..60}; do echo "line $at" || exit 9; echo "warning $at" >&2 || exit 9; sleep 0.05; done
printf 'half a line'
touch released
"""
RUNS = """
from pathlib import Path
from operations.engine import process
from operations.engine.locate import Engine
from operations.stacks import target
target.root = lambda: Path({folder!r})
engine = process.EngineCommand(Engine(Path({engine!r}), "3.230.0", "the tests"))
engine.run(["destroy", "--stack", "ci-1"], {folder!r}, {{}}, print)
"""
"""Program that runs the engine and prints what it hears."""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(target, "root", lambda: tmp_path)
    program = tmp_path / "pulumi"
    program.write_text(PRINTS)
    program.chmod(0o755)
    return Engine(program, "3.230.0", Origin.PATH)


def test_an_engine_that_changes_a_cluster_outlives_a_killed_mullion(engine: Engine, tmp_path: Path) -> None:
    """Else it would end with the next line that it prints, in the middle of a call, and leave its lock."""
    words = [sys.executable, "-u", "-c", RUNS.format(engine=str(engine.path), folder=str(tmp_path))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as killed:
        assert killed.stdout
        assert killed.stdout.readline() == "line 1\n", "the lines are heard while the engine runs"
        os.killpg(killed.pid, signal.SIGKILL)
    until((tmp_path / "released").exists, "waiting for the engine's end", 60)
    assert engine_record.read("ci-1"), "a later run can tell whose lock it was"


@pytest.mark.parametrize(("ending", "recorded"), [("exit 255", False), ("kill -KILL $$", True)])
def test_the_record_of_an_engine_that_a_signal_ended_remains(ending: str, recorded: bool, engine: Engine) -> None:
    engine.path.write_text(f"#!/bin/bash\n{ending}\n")
    with pytest.raises(auto.CommandError):
        process.EngineCommand(engine).run(["up", "--stack", "ci-1"], "/", {})
    assert bool(engine_record.read("ci-1")) is recorded, "it may have left its lock"


def test_all_that_the_engine_prints_is_heard_and_returned(engine: Engine, tmp_path: Path) -> None:
    heard, warned = list[str](), list[str]()
    result = process.EngineCommand(engine).run(
        ["destroy", "--stack", "ci-1"], str(tmp_path), {}, heard.append, warned.append
    )
    assert heard == [*(f"line {at}" for at in range(1, 61)), "half a line"]
    assert result.stdout.splitlines() == heard
    assert result.stderr.splitlines() == warned == [f"warning {at}" for at in range(1, 61)]


def test_output_with_secrets_is_in_no_file(engine: Engine, tmp_path: Path) -> None:
    engine.path.write_text("#!/bin/bash\nreadlink /proc/$$/fd/1 /proc/$$/fd/2\n")
    words = ["stack", "export", "--show-secrets", "--stack", "ci-1"]
    result = process.EngineCommand(engine).run(words, str(tmp_path), {})
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == ["pipe", "pipe"]


def test_an_engine_that_fails_is_an_error_with_its_output(engine: Engine, tmp_path: Path) -> None:
    engine.path.write_text("#!/bin/bash\necho 'error: disk on fire' >&2\nexit 255\n")
    with pytest.raises(auto.CommandError, match="disk on fire"):
        process.EngineCommand(engine).run(["up", "--stack", "ci-1"], str(tmp_path), {})
