"""`ci/remove.sh`: the removal of what a killed run left."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from operations.stacks.paths import REPOSITORY
from tests.awaited import until

from . import steps, workspace

pytestmark = pytest.mark.subprocess


@pytest.mark.parametrize(
    ("stack_file", "kept_until", "codes", "code", "calls"),
    [
        (False, "", (0,), 0, 0),
        (True, "2026-11-23T18:00:00Z", (0,), 0, 0),
        (True, "", (0,), 0, 1),
        (True, "", (6, 6, 0), 0, 3),
        (True, "", (1, 0), 1, 1),
        (True, "", (3, 0), 3, 1),
    ],
    ids=["removed already", "kept on purpose", "left", "left and locked by its engine", "not removable", "refused"],
)
def test_what_a_killed_run_left_is_removed(
    stack_file: bool, kept_until: str, codes: tuple[int, ...], code: int, calls: int, tmp_path: Path
) -> None:
    for part in ("ci", "stacks", "artifacts", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    script = copied(tmp_path)
    if stack_file:
        (tmp_path / "stacks" / "Pulumi.ci-1.yaml").touch()
    (tmp_path / "artifacts" / "result.json").write_text(json.dumps({"kept_until": kept_until}, indent=2))
    (tmp_path / "codes").write_text("\n".join(map(str, codes)))
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text('#!/bin/bash\necho "$@" >>calls\ncode=$(head -n 1 codes)\nsed -i 1d codes\nexit "$code"\n')
    mullion.chmod(0o755)
    done = steps.run(["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1", PAUSE="0"))
    assert done.code == code, done.output
    assert (tmp_path / "artifacts" / "Pulumi.ci-1.yaml").exists() is bool(kept_until), (
        "other clones need the stack file"
    )
    lines = (tmp_path / "calls").read_text().splitlines() if calls else []
    assert lines == ["down ci-1 --yes"] * calls
    assert ("built none" in done.output) is not stack_file, "without a stack file nobody knows that it was removed"


def copied(folder: Path) -> Path:
    """Copy remove.sh and what it reads into a folder; return the script."""
    for name in ("remove.sh", "waiting.sh", "signals.sh"):
        shutil.copy2(REPOSITORY / "ci" / name, folder / "ci" / name)
    return folder / "ci" / "remove.sh"


def removal(folder: Path, mullion: str) -> Path:
    """Return remove.sh in a folder with the stack file of ci-1 and a `mullion` of this text."""
    for part in ("ci", "stacks", ".venv/bin"):
        (folder / part).mkdir(parents=True)
    (folder / "stacks" / "Pulumi.ci-1.yaml").touch()
    program = folder / ".venv" / "bin" / "mullion"
    program.write_text(mullion)
    program.chmod(0o755)
    return copied(folder)


def test_a_lock_is_waited_for_until_the_service_ends_the_step(tmp_path: Path) -> None:
    script = removal(tmp_path, "#!/bin/bash\nexit 6\n")
    began = time.monotonic()
    done = steps.run(
        ["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1", PAUSE="1", LIMIT="3")
    )
    assert done.code == 6
    assert 1 < time.monotonic() - began < 30


STOPS_IN_ORDER = (
    "#!/bin/bash\ntrap 'echo $1 >>stopped; sleep 1; echo released >>stopped; exit 130' INT TERM\n"
    "echo x >>calls; touch ready\nwhile :; do sleep 0.1; done\n"
)
"""A removal that ends its call in progress and releases its lock after a signal."""


def test_a_removal_stops_in_order_before_the_service_kills_it_without_a_signal(tmp_path: Path) -> None:
    script = removal(tmp_path, STOPS_IN_ORDER)
    began = time.monotonic()
    environment = workspace.environment(tmp_path, NAME="ci-1", PAUSE="0", LIMIT="8")
    done = steps.run(["bash", str(script)], tmp_path, environment)
    assert time.monotonic() - began < 60
    assert done.code == 124, done.output
    assert "the reaper removes the rest" in done.output
    assert (tmp_path / "stopped").read_text().split() == ["down", "released"], "one signal: the second kills the engine"
    assert (tmp_path / "calls").read_text() == "x\n"


def test_the_signal_of_a_cancelled_removal_reaches_it(tmp_path: Path) -> None:
    """Someone cancels the workflow again: GitHub signals the step's first process alone."""
    script = removal(tmp_path, STOPS_IN_ORDER)
    environment = workspace.environment(tmp_path, NAME="ci-1", PAUSE="0")
    cancel = (tmp_path / "ready").exists
    done = steps.run(["bash", "-c", f"exec {script}"], tmp_path, environment, cancel=cancel)
    assert done.cancelled
    assert (tmp_path / "stopped").read_text().split() == ["down", "released"]


def test_a_run_that_its_step_left_behind_ends_before_its_cluster_is_removed(tmp_path: Path) -> None:
    """AzureCLI@2 ends without its script: two removals would run at once."""
    (tmp_path / ".mullion/ci-1").mkdir(parents=True)
    script = removal(tmp_path, "#!/bin/bash\necho down >>calls\n")
    stops = "trap 'sleep 2; echo removed >>calls; exit' TERM; touch ready; while :; do sleep 0.1; done"
    with subprocess.Popen(["bash", "-c", stops, "run", "ci-1"], cwd=tmp_path) as run:
        try:
            until((tmp_path / "ready").exists, "waiting for the run")
            (tmp_path / ".mullion" / "ci-1" / "run.pid").write_text(f"{run.pid}\n")
            environment = workspace.environment(tmp_path, NAME="ci-1", PAUSE="0.2", LIMIT="60")
            done = steps.run(["bash", str(script)], tmp_path, environment)
        finally:
            run.kill()
    assert done.code == 0, done.output
    assert (tmp_path / "calls").read_text().split() == ["removed", "down"]


def test_a_later_process_with_the_id_of_a_run_is_left_alone(tmp_path: Path) -> None:
    for part in ("ci", "stacks", ".mullion/ci-1"):
        (tmp_path / part).mkdir(parents=True)
    script = copied(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / ".mullion" / "ci-1" / "run.pid").write_text(f"{other.pid}\n")
        done = steps.run(["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1"))
        lives = other.poll() is None
        other.kill()
    assert (done.code, lives) == (0, True), done.output
