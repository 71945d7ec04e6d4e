"""What somebody changed by hand: named by `drift`, put right by `up --refresh`."""

import json
from pathlib import Path

import pytest

from operations.engine import Engine
from operations.exits import Exit

from .clone import Clone

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster."""
    clone = Clone(tmp_path_factory.mktemp("clone"), engine)
    clone.fresh()
    up = clone.up()
    assert up.returncode == 0, up.stderr
    return clone


def test_a_cluster_as_built_has_no_drift(clone: Clone) -> None:
    drift = clone.run("drift", clone.stack)
    assert drift.returncode == Exit.OK, drift.stderr
    assert drift.stdout == "aws-ci is as recorded\n"


def test_what_is_changed_or_removed_by_hand_is_named_and_put_right(clone: Clone) -> None:
    before = files(clone)
    assert clone.run("sandbox", "change", clone.stack, "aws-ci-windows-0", "instanceType=m6i.4xlarge").returncode == 0
    assert clone.run("sandbox", "remove", clone.stack, "Listener/aws-ci-api-public").returncode == 0

    drift = clone.run("drift", clone.stack)
    assert drift.returncode == Exit.DRIFT, drift.stderr
    assert "changed aws-ci-windows-0 (aws:ec2/instance:Instance)" in drift.stdout
    assert "instanceType: t3.large -> m6i.4xlarge" in drift.stdout
    assert "removed aws-ci-api-public (aws:lb/listener:Listener)" in drift.stdout

    found = json.loads(clone.run("drift", clone.stack, "--json").stdout)
    assert {(each["name"], each["change"]) for each in found} == {
        ("aws-ci-windows-0", "changed"),
        ("aws-ci-api-public", "removed"),
    }
    doctor = clone.run("doctor", clone.stack)
    assert doctor.returncode == Exit.FAILED
    assert "in the state and not in the world: aws:lb/listener:Listener" in doctor.stdout
    assert files(clone) == before, "drift and doctor changed nothing"

    up = clone.up("--refresh")
    assert up.returncode == 0, up.stderr
    assert clone.run("drift", clone.stack).returncode == Exit.OK
    assert not clone.differences()


def files(clone: Clone) -> dict[Path, bytes]:
    """What the backend holds of the stack."""
    return {each: each.read_bytes() for each in (clone.sandbox / "state").rglob("*.json*") if each.is_file()}
