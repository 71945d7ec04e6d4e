"""The epoch of a restore is published as an object of the bundle store."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.cloud_init.cloud import FakeCloud

OBJECT = "/bundles/epoch.json"


def records(cloud: FakeCloud, *states: str, snapshot: str = "") -> None:
    """Write the founding log; the last record may name a snapshot."""
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
def test_the_epoch_is_published_after_a_founding_from_a_snapshot_has_ended(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    states: tuple[str, ...],
    snapshot: str,
    epoch: int | None,
) -> None:
    records(cloud, *states, snapshot=snapshot)
    config = {"founding": {"store": f"{cloud.url}/snapshots", "log": "founding", "cluster": "sha256:a"}}
    module("epochs").reconcile(run, config)
    assert (json.loads(cloud.objects[OBJECT]) if OBJECT in cloud.objects else None) == (
        None if epoch is None else {"epoch": epoch}
    )
    cloud.asked.clear()
    module("epochs").reconcile(run, config)
    assert not [each for each in cloud.asked if each.startswith("PUT /bundles")], "once"
