"""Clones for commands that run in this process: folders that the commands take for the repository."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from operations.__main__ import app
from operations.chaos.clone import copy_clone
from operations.engine import workspace
from operations.engine.locate import Engine
from operations.stacks import stack_files, target
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import SERVICES, CloudState


def work_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make commands use a folder as their clone, with a cache of its own."""
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for module in (stack_files, workspace, target):
        patch.setattr(module, "REPOSITORY", folder)


def write(folder: Path, name: str, text: str) -> None:
    """Write a clone with one stack: Pulumi.yaml and the stack's file with this text."""
    (folder / "stacks").mkdir(parents=True)
    (folder / "stacks" / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    shutil.copy(REPOSITORY / "Pulumi.yaml", folder)


def copied(folder: Path, engine: Engine) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Copy the clone into a folder; return its command, which runs as a process. More environment by keyword."""
    copy_clone(folder)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "AWS_"))}
    own = {"PYTHONPATH": str(folder), "MULLION_PULUMI": str(engine.path), "XDG_CACHE_HOME": str(folder / "cache")}

    def mullion(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "operations", *words],
            cwd=folder,
            env={**inherited, **own, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )

    return mullion


def alone(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with its modules and the installed packages, without the clone that is installed too.

    -S: the editable install is a .pth file, which Python then does not read (documentation of the module site).
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MULLION_", "PYTHON", "DJANGO"))}
    own = {"PYTHONPATH": os.pathsep.join((str(folder), sysconfig.get_path("purelib"))), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-S", *words],
        cwd=folder,
        env={**kept, **own, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )


def up(
    folder: Path, name: str, text: str, before: Callable[[CloudState], None] = lambda cloud_state: None
) -> CloudState:
    """Build a stack from this file's text with the command, in a clone of its own; serve its sandbox over http.

    before: creates in the sandbox what the stack needs.
    """
    write(folder, name, text)
    with pytest.MonkeyPatch.context() as patch:
        work_in(folder, patch)
        file = target.cloud_state_file(name)
        file.parent.mkdir(parents=True)
        cloud_state = CloudState(file)
        with cloud_state.transaction():
            cloud_state.set_setting(SERVICES, "http")
        before(cloud_state)
        done = CliRunner().invoke(app, ["up", name, "--sandbox", "--yes"])
        assert done.exit_code == 0, done.output
    return cloud_state
