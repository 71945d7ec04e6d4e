"""Spot pools on the real engine: built, taken back by the sandbox's cloud, and created again by the next `up`."""

from pathlib import Path

import pytest

from operations.engine.locate import Engine

from . import sampling
from .clone import Clone

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("drawn", sampling.each("ci"))
def test_the_next_up_creates_a_machine_again_that_the_cloud_took_back(
    drawn: str, tmp_path: Path, engine: Engine
) -> None:
    clone = Clone(tmp_path, engine, sampling.stack(drawn, "spot"))
    document = clone.document()
    for pool in document["pools"].values():
        pool["spot"] = True
    clone.write(document)
    clone.built()
    before = clone.machines()
    refused = clone.run("sandbox", "interrupt", clone.stack, "control-plane-0", "--seconds", "0")
    assert refused.returncode and "is no machine with spot capacity" in refused.stderr

    taken = clone.run("sandbox", "interrupt", clone.stack, "windows-0")
    assert taken.returncode == 0, taken.stderr
    assert clone.machines().keys() == before.keys() - {"windows-0"}

    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert f"{clone.stack}-windows-0: the cloud took this spot machine back; it is created again" in up.stdout
    after = clone.machines()
    assert {name for name, id in before.items() if after.get(name) != id} == {"windows-0"}
    assert not clone.differences()

    again = clone.up()
    assert again.returncode == 0 and "took this spot machine back" not in again.stdout
    assert clone.machines() == after
