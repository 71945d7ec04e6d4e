"""Machines that the cloud no longer has when a run changes, replaces or deletes them, through the command line.

Google's provider refuses to delete a missing machine, and an update on Azure creates one.
"""

from pathlib import Path
from typing import Any

import pytest

from operations.engine.locate import Engine
from sandbox import tamper

from .clone import Clone

pytestmark = pytest.mark.engine

TWO = {"os": "ubuntu-24.04", "count": 2, "size": "e2-standard-2"}
FRONT = {"pools": ["linux"], "ports": [{"port": 30080, "node_port": 30080}], "allow": ["0.0.0.0/0"]}


def done(run: Any) -> str:
    """Return the output of a run that must succeed."""
    assert run.returncode == 0, run.stderr
    return run.stdout


def lose(clone: Clone, name: str) -> None:
    """Delete a machine behind the engine's back, as its user or the cloud does."""
    with clone.cloud_state() as cloud_state:
        machines = cloud_state.resources(clone.cloud.machine)
        tamper.remove(cloud_state, next(each for each in machines if each.name == f"{clone.stack}-{name}"))


def test_google_cloud_refuses_to_delete_lost_machines_so_runs_forget_them_first(tmp_path: Path, engine: Engine) -> None:
    clone = Clone(tmp_path, engine, "gcp-ci")
    document = clone.document()
    document["pools"] |= {"linux": {**TWO}}
    document["pools"]["windows"]["spot"] = True
    document["ingress"] = {"load_balancers": {"front": FRONT}}
    del document["acknowledge"]
    clone.write(document)
    before = clone.built().machines()

    lose(clone, "linux-1")
    repaired = done(clone.run("repair", clone.stack, "--sandbox", "--yes"))
    assert repaired.endswith(f"{clone.stack}: linux-1 replaced and ready\n")
    after = clone.machines()
    assert {name for name, id in before.items() if after.get(name) != id} == {"linux-1"}
    assert not clone.differences()

    lose(clone, "linux-1")
    lose(clone, "windows-0")
    document["pools"]["linux"]["count"] = 1
    document["pools"]["windows"]["spot"] = False
    clone.write(document)
    assert f"{clone.stack}-linux-1: the cloud no longer has this machine" in done(clone.up())
    assert clone.machines().keys() == {"control-plane-0", "linux-0", "windows-0"}
    assert not clone.differences().missing

    lose(clone, "linux-0")
    lose(clone, "control-plane-0")
    done(clone.run("down", clone.stack, "--sandbox", "--yes"))
    assert not clone.machines()


@pytest.mark.parametrize("stack", ["azure-prod", "gcp-prod"])
def test_up_creates_a_lost_worker_again_but_a_lost_control_plane_only_on_request(
    stack: str, tmp_path: Path, engine: Engine
) -> None:
    """A changed owner changes the tags of all machines; on Azure such an update creates a missing machine."""
    clone = Clone(tmp_path, engine, stack)
    document = clone.document()
    for pool in document["pools"].values():
        pool["count"] = 1 if pool["os"].startswith("ubuntu") else 0
    clone.write(document)
    before = clone.built().machines()
    worker = next(name for name in before if not name.startswith("control-plane"))

    lose(clone, worker)
    lose(clone, "control-plane-1")
    left = clone.machines()
    way = f"mullion replace-control-plane {stack} control-plane-1 --sandbox"
    waited = clone.run("wait", stack, "--timeout", "30s")
    assert waited.returncode == 1 and f"; run: {way}\n" in waited.stderr, waited.stderr
    refused = clone.up("--refresh")
    assert refused.returncode == 3 and way in refused.stderr, refused.stderr
    assert clone.machines() == left
    clone.write({**document, "owner": "another-team"})
    refused = clone.up()
    assert refused.returncode == 3, refused.stderr
    assert way in refused.stderr
    assert clone.machines() == left

    done(clone.run("replace-control-plane", stack, "control-plane-1", "--sandbox", "--yes"))
    after = clone.machines()
    assert {name for name, id in before.items() if after.get(name) != id} == {worker, "control-plane-1"}
    assert not clone.differences()
