"""A computer whose address is no longer in `api.allow`, on Azure: its commands say so, and plan to create no object."""

from pathlib import Path

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine
from sandbox.azure.stores import CALLER

from .clone import Clone

pytestmark = pytest.mark.engine

OUTSIDE = "198.51.100.7"
FIX = "do not admit this computer. Write its present public address in api.allow"


def test_commands_of_a_computer_that_the_stores_shut_out_name_the_fix(tmp_path: Path, engine: Engine) -> None:
    clone = Clone(tmp_path / "clone", engine, "azure-ci")
    clone.built()
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        cloud_state.set_setting(CALLER, OUTSIDE)
    before = clone.machines()
    for words in (("drift", clone.stack), ("up", clone.stack, "--sandbox", "--refresh")):
        ended = clone.run(*words)
        assert ended.returncode == Exit.FAILED, ended.stdout + ended.stderr
        assert FIX in ended.stderr and "AuthorizationFailure" in ended.stderr
        assert "removed" not in ended.stdout, "no object counts as missing"
    assert clone.machines() == before

    clone.write({**clone.document(), "api": {"access": "private", "allow": ["198.51.100.0/24"]}})
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert clone.run("drift", clone.stack).returncode == Exit.OK
    assert not clone.differences()
