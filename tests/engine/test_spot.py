"""Spot pools on the real engine: built, taken back by the sandbox's cloud, and created again by the next `up`."""

from pathlib import Path

import pytest

from operations.commands import up_and_down
from operations.engine.locate import Engine
from sandbox.gcp.names import MEMBERSHIP
from tests import clones

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


def test_a_worker_that_was_taken_back_is_behind_its_load_balancer_again(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google ends the membership of the instance group with the machine, and refuses to remove it afterwards."""
    clone = Clone(tmp_path, engine, "gcp-ci")
    document = clone.document()
    document |= {"pools": {"linux": {"os": "ubuntu-24.04", "count": 2, "size": "e2-standard-2", "spot": True}}}
    del document["acknowledge"]
    front = {"pools": ["linux"], "ports": [{"port": 30080, "node_port": 30080}], "allow": ["0.0.0.0/0"]}
    clone.write(document | {"ingress": {"load_balancers": {"front": front}}})
    clone.built()
    before = members(clone)
    assert len(before) == 2
    taken = clone.run("sandbox", "interrupt", clone.stack, "linux-0")
    assert taken.returncode == 0, taken.stderr
    assert len(members(clone)) == 1, "it ended with its machine"
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert members(clone) == before and not clone.differences()
    again = clone.up()
    assert again.returncode == 0 and members(clone) == before

    assert clone.run("sandbox", "interrupt", clone.stack, "linux-0").returncode == 0
    clones.work_in(clone.folder, monkeypatch)
    monkeypatch.setenv("MULLION_PULUMI", str(engine.path))
    [taken_back] = up_and_down.up(clone.stack, sandbox=True, yes=True)
    assert taken_back.endswith(f"::{clone.stack}-linux-0"), "`repair` and `roll` give its successor the time of a boot"


def members(clone: Clone) -> list[str]:
    """Return the names of the workers' memberships of instance groups."""
    with clone.cloud_state() as cloud_state:
        return sorted(each.name for each in cloud_state.resources(MEMBERSHIP) if "-ingress-" in each.name)
