"""`mullion replace-control-plane` and `mullion restore`, on a protected cluster of three: as a person runs them."""

import json
from typing import Any

import pytest

from operations.engine import Engine
from sandbox.aws.s3 import BUCKET

from .clone import Clone
from .conftest import INSTANCE

pytestmark = pytest.mark.engine

NAMES = {"control-plane-0", "control-plane-1", "control-plane-2"}
OLDER, NEWER = (f"etcd/20261121T{hour}0000Z-timer.{'ab' * 32}.db" for hour in ("09", "10"))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """aws-prod without its workers, built and founded, with two snapshots."""
    made = Clone(tmp_path_factory.mktemp("clone"), engine, "aws-prod")
    cluster = made.document()
    for pool in cluster["pools"].values():
        pool["count"] = 1 if pool["os"].startswith("ubuntu") else 0
    made.write(cluster)
    done(made.up())
    record = {"cluster": "sha256:a", "epoch": 0, "owner": "i-0", "machine": "control-plane-0", "state": "founded"}
    store = bucket(made)
    with made.world() as world, world.transaction():
        for key, content in ((OLDER, "x"), (NEWER, "y"), ("etcd/half.part", "z"), ("founding/0", json.dumps(record))):
            world.put_object(store, key, content.encode(), "application/json", versioned=True)
    return made


def bucket(clone: Clone) -> str:
    """The snapshot store."""
    with clone.world() as world:
        return next(each.id for each in world.resources(BUCKET) if each.name.endswith("-snapshots"))


def done(run: Any) -> str:
    """What a run that went well says."""
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    return run.stdout


def machines(clone: Clone) -> dict[str, str]:
    """Instance ids by name."""
    with clone.world() as world:
        return {each.name.removeprefix("aws-prod-"): each.id for each in world.resources(INSTANCE)}


def changed(clone: Clone, before: dict[str, str]) -> set[str]:
    """Names of machines that are others than before."""
    now = machines(clone)
    assert now.keys() == before.keys()
    return {name for name in now if now[name] != before[name]}


def protected(clone: Clone) -> set[str]:
    """Names of machines that are protected in the state."""
    found = [each["urn"] for each in clone.resources() if each["type"] == INSTANCE and each.get("protect")]
    return {each.rpartition("::")[2].removeprefix("aws-prod-") for each in found}


def test_one_control_plane_is_made_anew_and_only_that_one_and_all_stay_protected(clone: Clone) -> None:
    before = machines(clone)
    said = done(clone.run("replace-control-plane", "aws-prod", "control-plane-1", "--sandbox", "--yes"))
    assert changed(clone, before) == {"control-plane-1"}
    assert protected(clone) == NAMES
    assert "control-plane-1  ready" in said
    assert done(clone.up()).startswith("no changes"), "nothing is left to do"


def test_a_control_plane_stays_while_another_is_not_well(clone: Clone) -> None:
    before = machines(clone)
    with clone.world() as world, world.transaction():
        store = next(each.id for each in world.resources(BUCKET) if each.name.endswith("-bundles"))
        key = next(key for key in world.objects(store) if before["control-plane-2"] in key)
        record = json.loads(world.objects(store)[key].content)
        kept = world.objects(store)[key].content
        ill = json.dumps({**record, "state": "failed", "code": 404, "name": "wait-timeout", "message": "no API"})
        world.put_object(store, key, ill.encode(), "application/json", versioned=False)
    refused = clone.run("replace-control-plane", "aws-prod", "control-plane-1", "--sandbox", "--yes")
    with clone.world() as world, world.transaction():
        world.put_object(store, key, kept, "application/json", versioned=False)
    assert refused.returncode == 3
    assert "control-plane-2: failed, E404 wait-timeout: no API" in refused.stderr
    assert changed(clone, before) == set()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("replace-control-plane", "aws-prod", "linux-0", "--yes"), 2, "it has control-plane-0, control-plane-1"),
        (("restore", "aws-prod"), 3, "Without a terminal: --confirm aws-prod"),
        (("restore", "aws-prod", "--confirm", "aws-dev"), 3, "does not name the cluster aws-prod; nothing was changed"),
        (("restore", "aws-prod", "--snapshot", "etcd/x.db", "--confirm", "aws-prod"), 2, "restore aws-prod --list"),
    ],
)
def test_what_is_not_meant_is_refused(clone: Clone, words: tuple[str, ...], code: int, says: str) -> None:
    before = machines(clone)
    refused = clone.run(*words, "--sandbox")
    assert refused.returncode == code
    assert says in refused.stderr
    assert changed(clone, before) == set()


def test_a_restore_asks_the_next_founder_for_the_newest_snapshot_and_makes_all_of_the_control_plane_anew(
    clone: Clone,
) -> None:
    listed = done(clone.run("restore", "aws-prod", "--sandbox", "--list"))
    assert listed.index(NEWER) < listed.index(OLDER)
    assert "half" not in listed

    before = machines(clone)
    said = done(clone.run("restore", "aws-prod", "--sandbox", "--confirm", "aws-prod"))
    assert changed(clone, before) == NAMES, "and no worker"
    assert protected(clone) == NAMES
    assert "What the cluster was told since is lost" in said
    store = bucket(clone)
    with clone.world() as world:
        record = json.loads(world.objects(store)["founding/1"].content)
    assert record == {
        "cluster": "sha256:a",
        "epoch": 1,
        "owner": "",
        "machine": "",
        "state": "restore",
        "snapshot": NEWER,
    }
