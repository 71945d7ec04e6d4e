"""Runs of `mullion` in a process: when they end, and that nobody leaves one behind. A program of this test runs."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.subprocess
Program = Callable[[str], object]
LEAVES = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); raise SystemExit(3)"


@pytest.fixture
def program(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Let Python text stand for the command."""
    from portal import folders

    monkeypatch.setattr(folders, "clone", lambda: tmp_path)
    (tmp_path / "operations").mkdir()
    (tmp_path / "operations" / "__init__.py").touch()
    return lambda text: (tmp_path / "operations" / "__main__.py").write_text(text)


def test_a_run_ends_with_its_process_also_if_one_that_it_started_holds_the_output(program: Program) -> None:
    from portal import processes

    program(LEAVES)
    seen: list[str] = []
    began = time.monotonic()
    assert processes.run([], lambda _, text: seen.append(text)) == 3
    subprocess.run(["kill", seen[-1]], check=True)
    assert time.monotonic() - began < 30


def test_a_run_that_nobody_follows_any_more_is_ended(program: Program) -> None:
    from portal import processes

    program("import time; time.sleep(60)")
    found: list[subprocess.Popen[str]] = []

    def seen(process: Any, _text: str) -> None:
        found.append(process)
        raise OSError("no database")

    with pytest.raises(OSError, match="no database"):
        processes.run([], seen)
    assert found[0].returncode is not None
