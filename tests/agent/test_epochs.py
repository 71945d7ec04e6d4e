"""A restore is told to every machine, by an object of the bundle store."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.cloud_init.cloud import FakeCloud

OBJECT = "/bundles/epoch.json"


def records(cloud: FakeCloud, *states: str, snapshot: str = "") -> None:
    """The log of the founding; the last record names a snapshot, if any does."""
    for epoch, state in enumerate(states):
        record = {"cluster": "sha256:a", "epoch": epoch, "owner": "i-1", "machine": "control-plane-0", "state": state}
        record |= {"snapshot": snapshot} if snapshot and epoch >= 2 else {}
        cloud.objects[f"/snapshots/founding/{epoch}"] = json.dumps(record).encode()


@pytest.mark.parametrize(
    ("states", "snapshot", "epoch"),
    [
        ((), "", None),
        (("claimed", "founded"), "", None),
        (("claimed", "founded", "restore", "claimed"), "etcd/x.db", None),
        (("claimed", "founded", "restore", "claimed", "founded"), "etcd/x.db", 4),
    ],
    ids=["nothing", "a cluster that was never restored", "a restore under way", "a restore"],
)
def test_the_epoch_is_published_once_the_founding_that_a_snapshot_began_is_over(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    states: tuple[str, ...],
    snapshot: str,
    epoch: int | None,
) -> None:
    records(cloud, *states, snapshot=snapshot)
    told = {"founding": {"store": f"{cloud.url}/snapshots", "log": "founding", "cluster": "sha256:a"}}
    module("epochs").reconcile(run, told)
    assert (json.loads(cloud.objects[OBJECT]) if OBJECT in cloud.objects else None) == (
        None if epoch is None else {"epoch": epoch}
    )
    cloud.asked.clear()
    module("epochs").reconcile(run, told)
    assert not [each for each in cloud.asked if each.startswith("PUT /bundles")], "once"
