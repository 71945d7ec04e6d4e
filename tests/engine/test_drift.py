"""Changes by hand: reported by `drift`, undone by `up --refresh`."""

import json
from pathlib import Path

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine

from . import sampling
from .clone import Clone
from .things import THINGS

pytestmark = [pytest.mark.sampled, pytest.mark.engine]


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster."""
    return Clone(
        tmp_path_factory.mktemp("clone"), engine, sampling.drawn(request.param, sampling.FOR_CI, "drift")
    ).built()


def test_an_unchanged_cluster_has_no_drift(clone: Clone) -> None:
    drift = clone.run("drift", clone.stack)
    assert drift.returncode == Exit.OK, drift.stderr
    assert drift.stdout == f"{clone.stack} has no drift\n"


def test_changes_and_deletions_by_hand_are_reported_and_undone(clone: Clone) -> None:
    before, things, machine = files(clone), THINGS[clone.cloud.name], f"{clone.stack}-windows-0"
    larger, size = things.larger[1], clone.document()["pools"]["windows"]["size"]
    kind, host = (each.rpartition(":")[2] for each in (things.listener, clone.cloud.machine))
    with clone.cloud_state() as cloud_state:
        [listener] = [each.name for each in cloud_state.resources(things.listener)]
    assert clone.run("sandbox", "change", clone.stack, f"{host}/{machine}", f"{things.size}={larger}").returncode == 0
    assert clone.run("sandbox", "remove", clone.stack, f"{kind}/{listener}").returncode == 0

    drift = clone.run("drift", clone.stack)
    assert drift.returncode == Exit.DRIFT, drift.stderr
    assert f"changed {machine} ({clone.cloud.machine})" in drift.stdout
    assert f"{things.size}: {size} -> {larger}" in drift.stdout
    assert f"removed {listener} ({things.listener})" in drift.stdout

    found = json.loads(clone.run("drift", clone.stack, "--json").stdout)
    assert {(each["name"], each["change"]) for each in found} == {
        (machine, "changed"),
        (listener, "removed"),
    }
    doctor = clone.run("doctor", clone.stack)
    assert doctor.returncode == Exit.FAILED
    assert f"in the state, not in the sandbox: {things.listener}" in doctor.stdout
    assert files(clone) == before, "drift and doctor changed nothing"

    up = clone.up("--refresh")
    assert up.returncode == 0, up.stderr
    assert clone.run("drift", clone.stack).returncode == Exit.OK
    assert not clone.differences()


def test_a_machine_whose_instance_is_gone_is_not_ready(clone: Clone) -> None:
    """The status record still says ready."""
    machine, kind = f"{clone.stack}-windows-0", clone.cloud.machine.rpartition(":")[2]
    assert clone.run("sandbox", "remove", clone.stack, f"{kind}/{machine}").returncode == 0
    waited = clone.run("wait", clone.stack, "--timeout", "30s")
    assert waited.returncode == Exit.FAILED, waited.stdout
    assert waited.stderr.startswith(
        "mullion: 1 of 2 machines are not ready:\nwindows-0: the cloud no longer has instance "
    )
    assert waited.stderr.endswith(f"; run: mullion up {clone.stack} --refresh --sandbox\n")
    assert clone.up("--refresh").returncode == 0
    assert clone.run("wait", clone.stack).returncode == 0


def files(clone: Clone) -> dict[Path, bytes]:
    """Return the files of the stack in the backend."""
    return {each: each.read_bytes() for each in (clone.sandbox / "state").rglob("*.json*") if each.is_file()}
