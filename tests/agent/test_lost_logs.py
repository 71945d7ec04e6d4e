"""A restore after the loss of the founding log: new machines believe its records, though a later founding is published.

The executor and the agent, as the cluster's machines run them, judge what `mullion restore` writes.
"""

import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.rollout.signed_documents import founding_record, last_founding
from operations.commands import control_planes
from operations.commands.snapshot_keys import SnapshotStore
from operations.console.exits import Exit, Stop
from tests.agent.conftest import KEY
from tests.cloud_init.cloud import FakeCloud

SNAPSHOT = "etcd/x.db"
LOG = "/snapshots/founding/"
FOUNDED = "/bundles/founded.json"


@pytest.fixture
def found(run: Any, cloud: FakeCloud, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that founds the cluster on a new machine, and has its agent publish the founding."""
    founding, store = importlib.import_module("kinds.founding"), cloud.facts["snapshot_store"]
    run.path("/founder").parent.mkdir(parents=True, exist_ok=True)

    def found(machine: str) -> None:
        monkeypatch.setattr(run.cloud, "instance", lambda: machine)
        run.try_for(60)
        step = {"store": store, "log": "founding", "cluster": "sha256:a", "founder": "/founder", "member": "/member"}
        founding.make_claim(run, step)
        founding.make_founded(run, {**step, "path": "/founded"})
        module("epochs").reconcile(run, {"founding": step})

    return found


def stored(cloud: FakeCloud) -> SnapshotStore:
    """Return the stores as `mullion restore` reads them."""
    names = [path.removeprefix("/snapshots/") for path in cloud.objects if path.startswith(LOG)]
    count, unexpected = control_planes.in_order(names)
    published = last_founding(KEY, "sha256:a", cloud.objects[FOUNDED].decode())
    return SnapshotStore("b", [SNAPSHOT], [], count, "sha256:a", "aws", KEY, unexpected, published)


@pytest.mark.parametrize("restores", [0, 2], ids=["a cluster that was never restored", "one that was restored twice"])
@pytest.mark.parametrize("left", [0, 1], ids=["the whole log", "all but the first record"])
def test_a_new_machine_founds_the_cluster_from_a_restore_after_the_log_was_lost(
    run: Any, cloud: FakeCloud, found: Callable[[str], None], restores: int, left: int
) -> None:
    def restore() -> None:
        for key, content in control_planes.restore_records(stored(cloud), SNAPSHOT).items():
            assert f"/snapshots/{key}" not in cloud.objects
            cloud.objects[f"/snapshots/{key}"] = content.encode()

    found("i-0")
    for number in range(restores):
        restore()
        found(f"i-{number + 1}")
    last = json.loads(cloud.objects[FOUNDED])["epoch"]
    for path in [path for path in cloud.objects if path.startswith(LOG)]:
        if int(path.removeprefix(LOG)) >= left:
            del cloud.objects[path]
    restore()
    found("i-9")
    assert json.loads(cloud.objects[FOUNDED])["epoch"] == last + 3, "restore, claimed, founded"
    assert json.loads(cloud.objects["/bundles/epoch.json"])["epoch"] == last + 3
    assert json.loads(cloud.objects[f"{LOG}{last + 3}"])["snapshot"] == SNAPSHOT


def test_an_interrupted_restore_continues_after_the_records_that_it_wrote(
    cloud: FakeCloud, found: Callable[[str], None]
) -> None:
    found("i-0")
    whole = control_planes.restore_records(SnapshotStore("b", [], [], 0, "sha256:a", "aws", KEY, (), 1), SNAPSHOT)
    for path in [path for path in cloud.objects if path.startswith(LOG)]:
        del cloud.objects[path]
    first = "founding/0"
    cloud.objects[f"/snapshots/{first}"] = whole[first].encode()
    with pytest.raises(Exception, match="the log ends before record 1"):
        found("i-1")
    assert {first: whole[first], **control_planes.restore_records(stored(cloud), SNAPSHOT)} == whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        founding_record("b3RoZXI=", {"cluster": "sha256:a", "epoch": 7}),
        founding_record(KEY, {"cluster": "sha256:b", "epoch": 7}),
        founding_record(KEY, {"cluster": "sha256:a", "epoch": "7"}),
        json.dumps({"cluster": "sha256:a", "epoch": 7, "mac": "ä"}),
    ],
    ids=["none", "a list", "of another key", "of another cluster", "no number", "a MAC that is no ASCII"],
)
def test_a_published_founding_that_machines_do_not_believe_counts_as_none(text: str) -> None:
    assert last_founding(KEY, "sha256:a", text) == -1


def test_a_log_that_lost_too_many_records_is_refused_before_anything_is_changed() -> None:
    lost = SnapshotStore("b", [SNAPSHOT], [], 0, "sha256:a", "aws", KEY, (), 300)
    with pytest.raises(Stop, match=r"Delete founded\.json, and repeat") as stop:
        control_planes._refuse_unfillable(lost)
    assert stop.value.code is Exit.REFUSED
