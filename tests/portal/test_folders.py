"""The copy of the program in which jobs run: it is made again after each change of the program."""

import os
from pathlib import Path

import pytest

from operations.chaos import clone

CHANGED = (
    "components/cost/tables/aws.json",
    "cloud-init/windows/agent.ps1",
    "components/naming.py",
    "__main__.py",
    "Pulumi.yaml",
    "tools/go.mod",
)


@pytest.fixture
def program(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder with a few files stand for the repository."""
    from portal import folders

    for module in (folders, clone):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path / "program")
    monkeypatch.setattr(folders, "data", lambda: tmp_path)
    for part in clone.PARTS:
        if "." not in part:
            (tmp_path / "program" / part / "__pycache__").mkdir(parents=True)
    for each in (*CHANGED, "tools/go.sum", "tools/go.lock", "stacks/Pulumi.aws-dev.yaml"):
        path = tmp_path / "program" / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("first")
    return tmp_path / "program"


@pytest.mark.parametrize("changed", CHANGED)
def test_a_change_of_any_file_reaches_the_copy(changed: str, program: Path) -> None:
    from portal import folders

    copy = folders.clone() / changed
    assert copy.read_text() == "first"
    (program / changed).write_text("second")
    assert folders.clone() / changed == copy
    assert copy.read_text() == "second"


def test_nothing_is_copied_while_the_program_stays(program: Path) -> None:
    """Compiled code and stack files of the clone change by themselves."""
    from portal import folders

    (folders.clone() / "components" / "naming.py").write_text("kept")
    (program / "components" / "__pycache__" / "naming.pyc").touch()
    (program / "stacks" / "Pulumi.mine.yaml").touch()
    os.utime(program / "stacks" / "Pulumi.aws-dev.yaml", (0, 0))
    assert (folders.clone() / "components" / "naming.py").read_text() == "kept"
