"""From a writer of the snapshot store: whoever may write and delete objects below etcd/."""

import hashlib
import hmac
import importlib
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from operations.commands import control_planes
from operations.commands.control_planes import SnapshotStore, sorted_out
from operations.console.exits import Exit, Stop
from tests.agent.conftest import KEY

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=timezone.utc)


def snapshot_key(stamp: str, key: str = KEY, digest: str = "a" * 64) -> str:
    """Return the name of a snapshot with the MAC of a key."""
    body = f"etcd/{stamp}-timer.{digest}"
    return f"{body}.{hmac.new(key.encode(), body.encode(), hashlib.sha256).hexdigest()}.db"


TRUE = [snapshot_key("20261121T120000Z"), snapshot_key("20261121T110000Z")]
PLANTED = [
    snapshot_key("20991231T000000Z"),  # with the true key, by a control plane whose clock was wrong
    snapshot_key("20261121T122900Z", "b3RoZXI="),
    TRUE[0].replace("20261121T120000Z", "20261121T122900Z"),
    TRUE[0].replace("a" * 64, "b" * 64),
    f"etcd/20261121T122900Z-timer.{'a' * 64}.db",
    "etcd/99999999T999999Z-timer.db",
]


def test_restore_does_not_take_a_planted_snapshot() -> None:
    """Plant newer snapshots, so that `mullion restore` founds the cluster from one of them.

    Refused by: `mullion restore`, by the MAC in the name and by the time.
    Seen in: the standard error of `mullion restore`, which counts the ignored objects.
    """
    good, ignored = sorted_out(KEY, [*PLANTED, *TRUE], NOW)
    assert (good, ignored) == (TRUE, sorted(PLANTED))
    stored = SnapshotStore("b-snapshots", good, ignored, 1, "sha256:a", "aws")
    assert control_planes._chosen("prod", stored, None) == TRUE[0]
    assert "6 objects below etcd/ of bucket b-snapshots are ignored" in control_planes.ignoring(stored)
    for planted in PLANTED:
        with pytest.raises(Stop, match="lacks the MAC of this cluster's key, or has a future time") as refused:
            control_planes._chosen("prod", stored, planted)
        assert refused.value.code == Exit.REFUSED


def test_planted_snapshots_do_not_push_true_ones_out(module: Callable[[str], ModuleType], run: Any) -> None:
    """Plant as many snapshots as the agent keeps, so that it deletes the true ones and takes no more.

    Refused by: the agent, by the MAC and by the time.
    Seen in: the agent's log: `objects of the snapshot store are ignored`; the status record has their count.
    """
    snapshots, now = module("snapshots"), NOW.timestamp()
    planted = [snapshot_key(f"209912{day:02}T000000Z") for day in range(1, 25)]
    for key in (*TRUE, *PLANTED, *planted):
        run.ask("store", f"{snapshots.store(run)}/{key}", "PUT", b"x", content_type="application/octet-stream")
    found, others = snapshots.stored(run, now)
    assert [each.key for each in found] == TRUE
    assert sorted(others) == sorted([*PLANTED, *planted])
    assert snapshots.surplus(found, now, {"keep": 24, "days": 7, "daily": 0, "weekly": 0}) == []
    assert not snapshots.due(found, now, 60)
    assert snapshots.due(found, now + 3600, 60)


def test_a_machine_does_not_start_from_a_planted_snapshot(
    module: Callable[[str], ModuleType], run: Any, tmp_path: Path
) -> None:
    """Write a founding record that asks for a restore from a planted snapshot, with its true digest.

    Refused by: the executor, 520 founding-refused.
    Seen in: the status record, as E520 founding-refused with the snapshot's name.
    """
    planted = snapshot_key("20261121T122900Z", "b3RoZXI=", hashlib.sha256(b"evil").hexdigest())
    store = module("snapshots").store(run)
    run.ask("store", f"{store}/{planted}", "PUT", b"evil", content_type="application/octet-stream")
    restoring = importlib.import_module("kinds.restoring")
    with pytest.raises(
        Exception, match=f"{planted}.*, which is no snapshot that this cluster's control plane has signed"
    ):
        restoring.fetch(run, {"store": store}, planted, tmp_path / "snapshot.db")
    assert not (tmp_path / "snapshot.db").exists()
