"""From a writer of the founding log: whoever may write, change and delete objects of the snapshot store.

Seen in: the status record, as E520 founding-refused with the place of the record.
"""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.rollout.signed_documents import founding_record
from operations.commands import control_planes
from operations.commands.control_planes import SnapshotStore
from operations.console.exits import Exit, Stop
from tests.agent.conftest import KEY
from tests.cloud_init.cloud import FakeCloud

NEW, FOUNDER = "i-0000000000000new", "i-0000000000000old"
"""Ids of the machine that starts, and of a machine that no longer exists."""


@pytest.fixture
def founding(run: Any, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the executor's module on a new machine of the control plane."""
    module = importlib.import_module("kinds.founding")
    monkeypatch.setattr(run.cloud, "instance", lambda: NEW)
    monkeypatch.setattr(module, "gone", lambda run, instance: instance == FOUNDER)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    run.try_for(60)
    return module


def step(cloud: FakeCloud) -> dict[str, Any]:
    """Return the step that decides whether the machine founds the cluster."""
    store = cloud.facts["snapshot_store"]
    return {"store": store, "log": "founding", "cluster": "sha256:a", "founder": "/founder", "member": "/member"}


def log(cloud: FakeCloud, *states: str, key: str | None = KEY, **fields: str) -> None:
    """Write records of the machine FOUNDER; key: of their MAC, None for none. fields: of the last record."""
    for epoch, state in enumerate(states):
        record = {"cluster": "sha256:a", "epoch": epoch, "owner": FOUNDER, "machine": "control-plane-0", "state": state}
        record |= fields if epoch == len(states) - 1 else {}
        text = founding_record(key, record) if key else json.dumps(record)
        cloud.objects[f"/snapshots/founding/{epoch}"] = text.encode()


def refused(founding: ModuleType, run: Any, cloud: FakeCloud, root: Path, says: str) -> None:
    """Assert that the machine ends with founding-refused and founds nothing."""
    with pytest.raises(Exception, match=says) as stopped:
        founding.make_claim(run, step(cloud))
    assert told(stopped.value) == "E520 founding-refused"
    assert not (root / "founder").exists()


def told(error: BaseException) -> str:
    """Return code and name of a failure, as the status record has them."""
    return f"E{getattr(error, 'code', 0)} {getattr(error, 'name', '')}"


@pytest.mark.parametrize("key", [None, "b3RoZXI="], ids=["without MAC", "another key"])
def test_a_claim_of_a_deleted_machine_that_was_planted_is_not_taken_over(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path, key: str | None
) -> None:
    """Write a claim of a machine that does not exist, so that the next new control plane founds a second cluster.

    Refused by: the executor, 520 founding-refused, by the MAC.
    """
    log(cloud, "claimed", key=key)
    refused(founding, run, cloud, root, "founding/0 lacks the MAC of this cluster's desired-state key")


def test_a_planted_request_for_a_restore_is_not_followed(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Ask for a restore of an old, truly signed snapshot, so that the next new control plane starts from it.

    Refused by: the executor, 520 founding-refused, by the MAC.
    """
    log(cloud, "claimed", "founded")
    body = {
        "cluster": "sha256:a",
        "epoch": 2,
        "owner": "",
        "machine": "",
        "state": "restore",
        "snapshot": "etcd/old.db",
    }
    for text in (json.dumps(body), founding_record("b3RoZXI=", body)):
        cloud.objects["/snapshots/founding/2"] = text.encode()
        refused(founding, run, cloud, root, "founding/2 lacks the MAC")


def test_a_true_record_counts_only_at_its_own_number(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Copy the true record of an earlier restore to the end of the log.

    Refused by: the executor, 520 founding-refused, by the record's number, which the MAC covers.
    """
    log(cloud, "claimed", "founded", "restore", "claimed", "founded")
    cloud.objects["/snapshots/founding/5"] = cloud.objects["/snapshots/founding/2"]
    refused(founding, run, cloud, root, "founding/5 has the number 2")


@pytest.mark.parametrize("left", range(5))
def test_a_log_without_its_last_records_founds_nothing(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path, left: int
) -> None:
    """Delete the last records of the log, or all, so that an earlier claim or restore counts again.

    Refused by: the executor, 520 founding-refused, by the number that the agent published in the bundle store.
    """
    log(cloud, "claimed", "founded", "restore", "claimed", "founded")
    importlib.import_module("agent.epochs").reconcile(run, {"founding": step(cloud)})
    for epoch in range(left, 5):
        del cloud.objects[f"/snapshots/founding/{epoch}"]
    if left == 2:  # the first founding has ended: the machine only joins
        founding.make_claim(run, step(cloud))
        assert (root / "member").exists()
    else:
        refused(founding, run, cloud, root, "the log ends before record 4, with which the cluster was founded")


def test_a_claim_that_was_changed_to_another_snapshot_restores_nothing(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Name another true snapshot in the claim of the machine that is restoring the cluster.

    Refused by: the executor, 520 founding-refused, by the MAC.
    """
    log(cloud, "claimed", "founded", "restore", "claimed", owner=NEW, snapshot="etcd/new.db")
    record = json.loads(cloud.objects["/snapshots/founding/3"])
    cloud.objects["/snapshots/founding/3"] = json.dumps(record | {"snapshot": "etcd/older.db"}).encode()
    (root / "founder").write_text(NEW)
    wanted = {**step(cloud), "requires": "/founder", "done": "/restored", "data": "/etcd"}
    with pytest.raises(Exception, match="founding/3 lacks the MAC") as stopped:
        importlib.import_module("kinds.restoring").make_restored(run, wanted)
    assert told(stopped.value) == "E520 founding-refused"
    assert not (root / "restored").exists()


FORGED = ("etcd/older.db", FOUNDER), ("etcd/older.db", NEW), ("", FOUNDER), ("", NEW)


def plant(cloud: FakeCloud, epoch: int, owner: str, snapshot: str) -> None:
    """Write a record of an ended founding without a MAC."""
    record = {"cluster": "sha256:a", "epoch": epoch, "owner": owner, "machine": "control-plane-0", "state": "founded"}
    record |= {"snapshot": snapshot} if snapshot else {}
    cloud.objects[f"/snapshots/founding/{epoch}"] = json.dumps(record).encode()


@pytest.mark.parametrize(("snapshot", "owner"), FORGED)
def test_a_planted_end_of_the_founding_chooses_no_snapshot(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path, snapshot: str, owner: str
) -> None:
    """While a machine restores the cluster, write a `founded` record that names another true snapshot, or none.

    Refused by: the executor, 520 founding-refused: only its own claim, which has a MAC, names the snapshot.
    """
    log(cloud, "claimed", "founded", "restore", "claimed", owner=NEW, snapshot="etcd/new.db")
    plant(cloud, 4, owner, snapshot)
    (root / "founder").write_text(NEW)
    wanted = {**step(cloud), "requires": "/founder", "done": "/restored", "data": "/etcd"}
    with pytest.raises(Exception, match=r"'epoch': 4.* is no claim of this machine") as stopped:
        importlib.import_module("kinds.restoring").make_restored(run, wanted)
    assert told(stopped.value) == "E520 founding-refused"
    assert not (root / "restored").exists() and not (root / "etcd").exists()


def test_a_deleted_log_does_not_turn_a_restore_into_an_empty_cluster(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Delete the log while a machine restores the cluster, so that it starts with an empty etcd.

    Refused by: the executor, 206 store-failed: its own claim has to be the last record.
    Seen in: the status record, as E206 store-failed with the place of the record.
    """
    (root / "founder").write_text(NEW)
    wanted = {**step(cloud), "requires": "/founder", "done": "/restored", "data": "/etcd"}
    with pytest.raises(Exception, match="founding/0: the store does not return the claim") as stopped:
        importlib.import_module("kinds.restoring").make_restored(run, wanted)
    assert told(stopped.value) == "E206 store-failed"
    assert not (root / "restored").exists()


def test_a_planted_end_in_the_founders_name_ends_no_founding(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Write the founder's `founded` record before the founder does, to decide its content.

    Refused by: the executor, 520 founding-refused, by the MAC.
    """
    log(cloud, "claimed", owner=NEW)
    plant(cloud, 1, NEW, "etcd/older.db")
    (root / "founder").write_text(NEW)
    with pytest.raises(Exception, match="founding/1 lacks the MAC") as stopped:
        founding.make_founded(run, {**step(cloud), "path": "/founded"})
    assert told(stopped.value) == "E520 founding-refused"
    assert not (root / "founded").exists()


def test_a_planted_end_is_neither_signed_nor_published_by_the_agent(
    founding: ModuleType, run: Any, cloud: FakeCloud
) -> None:
    """Write a later `founded` record that names a snapshot: the agent signs its number, all machines restart programs.

    Refused by: the agent, which publishes only records with a MAC, and reports the record.
    Seen in: the agent's log and the status record, with the place of the record.
    """
    log(cloud, "claimed", "founded")
    config = {"founding": step(cloud)}
    importlib.import_module("agent.epochs").reconcile(run, config)
    before = cloud.objects["/bundles/founded.json"]
    plant(cloud, 2, FOUNDER, "etcd/older.db")
    with pytest.raises(
        Exception, match="founding/2 lacks the MAC of this cluster's desired-state key, and the cluster was founded"
    ):
        importlib.import_module("agent.epochs").reconcile(run, config)
    assert cloud.objects["/bundles/founded.json"] == before
    assert "/bundles/epoch.json" not in cloud.objects


def store(*names: str, first: str = '{"cluster": "sha256:a"}') -> SnapshotStore:
    """Return the snapshot store with these keys below founding/, as `mullion restore` reads it."""
    count, unexpected = control_planes.in_order([f"founding/{each}" for each in names])
    return SnapshotStore("b", ["etcd/x.db"], [], count, control_planes.authority(first), "aws", unexpected=unexpected)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("0", "1", "x"), "founding/x"),
        (("0", "1", "2/a", "10", "3"), "founding/10, founding/2/a, founding/3"),
        (("1", "2"), "founding/1, founding/2"),
        (("0", "01", "-1", "0\x1b[2J"), "founding/-1, founding/0 \\[2J, founding/01"),
        (("0", *(f"x{number}" for number in range(9))), "founding/x4 and 4 more"),
    ],
)
def test_junk_in_the_log_does_not_move_the_record_of_a_restore(names: tuple[str, ...], says: str) -> None:
    """Add objects to the log or delete records, so that the record of a restore gets a number that no machine reads.

    Refused by: `mullion restore`, which names the objects.
    Seen in: the standard error of `mullion restore`.
    """
    assert control_planes._chosen("prod", store("0", "1"), None) == "etcd/x.db"
    with pytest.raises(Stop, match=says) as stop:
        control_planes._chosen("prod", store(*names), None)
    assert stop.value.code is Exit.REFUSED


@pytest.mark.parametrize("first", ["[]", "{", '{"cluster": 1}', '"x"', 100_000 * "["], ids=lambda each: each[:9])
def test_a_first_record_of_another_form_ends_a_restore_with_its_name(first: str) -> None:
    """Replace the first record by JSON of another form, or nested so deep that the reader fails.

    Refused by: `mullion restore`, which names the record.
    Seen in: the standard error of `mullion restore`.
    """
    with pytest.raises(Stop, match="founding/0 in bucket b is no founding record"):
        control_planes._chosen("prod", store("0", first=first), None)


def test_a_log_from_before_records_were_signed_lets_machines_join(
    founding: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    """Remove the MAC from the record of a founding that has ended, to keep new control planes out.

    Refused by: the executor, which lets the machine join, because joining needs no trust in the log.
    Seen in: the status record, which becomes `ready`.
    """
    log(cloud, "claimed", "founded", key=None)
    founding.make_claim(run, step(cloud))
    assert (root / "member").exists() and not (root / "founder").exists()
    importlib.import_module("agent.epochs").reconcile(run, {"founding": step(cloud)})
    assert json.loads(cloud.objects["/bundles/founded.json"])["epoch"] == 1, "deletions count from here on"
