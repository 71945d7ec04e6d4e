"""A role and its instance profile that somebody deleted in the account: what the commands say, and the way back."""

from pathlib import Path

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine
from sandbox import tamper
from sandbox.aws.iam import PROFILE, ROLE

from .clone import Clone

pytestmark = pytest.mark.engine

NAMED = ("role aws-ci-workers", "instance profile aws-ci-workers", "A deleted identity")


def test_a_deleted_role_is_named_and_its_workers_come_back_by_a_roll(tmp_path: Path, engine: Engine) -> None:
    clone = Clone(tmp_path / "clone", engine)
    clone.built()
    before = clone.machines()
    with clone.cloud_state() as cloud_state:
        for kind in (PROFILE, ROLE):
            [lost] = [each for each in cloud_state.resources(kind) if "workers" in each.id]
            tamper.remove(cloud_state, lost)
    drift = clone.run("drift", clone.stack)
    assert drift.returncode == Exit.DRIFT
    assert not [word for word in NAMED if word not in drift.stderr], drift.stderr

    refreshed = clone.up("--refresh")
    assert refreshed.returncode == 0
    assert not [word for word in NAMED if word not in refreshed.stderr], refreshed.stderr
    assert clone.machines() == before
    waited = clone.run("wait", clone.stack, "--timeout", "1s")
    assert "windows-0: absent" in waited.stderr, "its record would have another name"

    rolled = clone.run("roll", clone.stack, "windows", "--sandbox", "--yes")
    assert rolled.returncode == 0, rolled.stderr
    assert clone.machines()["windows-0"] != before["windows-0"]
    assert clone.run("wait", clone.stack, "--timeout", "1s").returncode == 0
