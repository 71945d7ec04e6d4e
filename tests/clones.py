"""Clones for commands that run in this process: folders that the commands take for the repository."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from operations.__main__ import app
from operations.engine import workspace
from operations.stacks import stack_files, target
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import SERVICES, CloudState


def work_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make commands use a folder as their clone, with a cache of its own."""
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for module in (stack_files, workspace, target):
        patch.setattr(module, "REPOSITORY", folder)


def up(folder: Path, name: str, text: str) -> CloudState:
    """Build a stack from this file's text with the command, in a clone of its own; serve its sandbox over http."""
    (folder / "stacks").mkdir()
    (folder / "stacks" / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "Pulumi.yaml").write_text((REPOSITORY / "Pulumi.yaml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        work_in(folder, patch)
        file = target.cloud_state_file(name)
        file.parent.mkdir(parents=True)
        cloud_state = CloudState(file)
        with cloud_state.transaction():
            cloud_state.set_setting(SERVICES, "http")
        done = CliRunner().invoke(app, ["up", name, "--sandbox", "--yes"])
        assert done.exit_code == 0, done.output
    return cloud_state
