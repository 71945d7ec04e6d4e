"""Azure reserves a network interface for some minutes after the end of its machine: the engine runs once more."""

from pathlib import Path

import pytest

from operations.engine.locate import Engine
from sandbox import faults

from .clone import Clone

pytestmark = pytest.mark.engine


def test_a_smaller_pool_and_down_try_once_more_if_azure_still_reserves_an_interface(
    tmp_path: Path, engine: Engine
) -> None:
    clone = Clone(tmp_path, engine, "azure-ci")
    document = clone.document()
    document["pools"]["windows"]["count"] = 2
    clone.write(document)
    clone.built()
    document["pools"]["windows"]["count"] = 1
    clone.write(document)
    for words in (("up",), ("down",)):
        with clone.cloud_state() as cloud_state:
            faults.plan(cloud_state, "reserved", type="NetworkInterface")
        run = clone.run(*words, clone.stack, "--sandbox", "--yes")
        assert run.returncode == 0, run.stderr
        assert "Azure still reserves the network interface of an ended machine" in run.stderr
    assert not clone.machines()
