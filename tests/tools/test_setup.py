"""tools/setup.py: its stamps and interpreter. Makefile: what `clean` prints, and the order of `demo`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from operations.stacks.paths import REPOSITORY
from tools import setup


def test_the_stamp_does_not_depend_on_the_path_of_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stamps = [setup.stamp(step) for step in setup.STEPS]
    monkeypatch.setattr(sys, "executable", "/another/place/python3")
    assert [setup.stamp(step) for step in setup.STEPS] == stamps


def test_the_venv_is_not_created_by_its_own_python() -> None:
    made_by = setup.STEPS[0].commands[0][0]
    assert not Path(made_by).is_relative_to(setup.VENV)


def test_set_up_does_not_empty_the_folder_that_a_link_leads_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "bin").mkdir(parents=True)
    (tmp_path / ".venv").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup.subprocess, "run", lambda *_, **__: pytest.fail("a command ran"))
    with pytest.raises(SystemExit, match=r"is a link to .*theirs, which set-up would empty"):
        setup.main()
    assert (tmp_path / "theirs" / "bin").is_dir()


@pytest.mark.subprocess
def test_make_clean_names_the_stacks_that_are_still_built(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    for stack in ("one", "two"):
        (tmp_path / ".mullion" / stack).mkdir(parents=True)
    (tmp_path / ".mullion" / "one" / "world.json").write_text('{"world": "aws"}')
    (tmp_path / ".mullion" / "three").mkdir()
    (tmp_path / ".mullion" / "three" / "world.json").write_text('{"world": "sandbox"}')
    words = ["make", "clean", f"PYTHON={sys.executable}"]
    process = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "stack one is still built; after make venv: mullion down one\n" in process.stdout
    assert "stack three is still built; after make venv: mullion down three --sandbox\n" in process.stdout
    assert "stack two" not in process.stdout


@pytest.mark.subprocess
def test_make_demo_checks_the_stack_before_it_builds_programs() -> None:
    words = ["make", "--dry-run", "demo", f"PYTHON={sys.executable}"]
    steps = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert -1 < steps.index("operations.stacks.boot_overlay aws-dev") < steps.index("-m lab cluster")
