"""The epoch of a restore is published as an object of the bundle store."""

import json
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from components.rollout.signed_documents import founding_record
from tests.cloud_init.cloud import FakeCloud

OBJECT, FOUNDED = "/bundles/epoch.json", "/bundles/founded.json"
KEY = "a2V5IG9mIHRoZSBwb2ludGVy"
"""Secret desired-state."""
STEP = {"log": "founding", "cluster": "sha256:a"}


def records(cloud: FakeCloud, *states: str, snapshot: str = "") -> None:
    """Write the founding log; the last record may name a snapshot."""
    for epoch, state in enumerate(states):
        record = {"cluster": "sha256:a", "epoch": epoch, "owner": "i-1", "machine": "control-plane-0", "state": state}
        record |= {"snapshot": snapshot} if snapshot and epoch >= 2 else {}
        cloud.objects[f"/snapshots/founding/{epoch}"] = founding_record(KEY, record).encode()


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
    cloud.secrets["desired-state"] = KEY
    records(cloud, *states, snapshot=snapshot)
    config = {"founding": {"store": f"{cloud.url}/snapshots", **STEP}}
    module("epochs").reconcile(run, config)
    assert (json.loads(cloud.objects[OBJECT]) if OBJECT in cloud.objects else None) == (
        None if epoch is None else {"epoch": epoch}
    )
    cloud.asked.clear()
    module("epochs").reconcile(run, config)
    assert not [each for each in cloud.asked if each.startswith("PUT /bundles")], "once"


def test_the_number_of_the_last_founding_is_published_with_a_mac(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud
) -> None:
    cloud.secrets["desired-state"] = KEY
    config = {"founding": {"store": f"{cloud.url}/snapshots", **STEP}}
    records(cloud, "claimed", "claimed")
    module("epochs").reconcile(run, config)
    assert FOUNDED not in cloud.objects, "the founding has not ended"
    records(cloud, "claimed", "claimed", "founded")
    module("epochs").reconcile(run, config)
    assert cloud.objects[FOUNDED].decode() == founding_record(KEY, {"cluster": "sha256:a", "epoch": 2})
    # the desired-state key was renewed
    cloud.secrets["desired-state"], run.stored = "another key", {}
    module("epochs").reconcile(run, config)
    assert cloud.objects[FOUNDED].decode() == founding_record("another key", {"cluster": "sha256:a", "epoch": 2})


def test_the_agent_reports_a_log_that_lost_its_last_records(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud
) -> None:
    cloud.secrets["desired-state"] = KEY
    config = {"founding": {"store": f"{cloud.url}/snapshots", **STEP}}
    records(cloud, "claimed", "founded")
    module("epochs").reconcile(run, config)
    del cloud.objects["/snapshots/founding/1"]
    with pytest.raises(Exception, match="the log ends before record 1, with which the cluster was founded"):
        module("epochs").reconcile(run, config)


@pytest.mark.parametrize(
    ("states", "key", "number"),
    [
        (("claimed", "founded"), KEY, 1),
        (("claimed", "founded", "restore"), KEY, None),
        (("claimed", "founded"), "b3RoZXI=", None),
        ((), KEY, None),
    ],
    ids=["a founding", "a restore that has not begun", "a founding that nobody here has signed", "nothing"],
)
def test_only_a_signed_founding_tells_from_when_certificates_are_on_record(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    states: tuple[str, ...],
    key: str,
    number: int | None,
) -> None:
    cloud.secrets["desired-state"] = key
    records(cloud, *states)
    agent = SimpleNamespace(run=run, config={"founding": {"store": f"{cloud.url}/snapshots", **STEP}}, founding=None)
    module("__main__").Agent.find_founding(agent)
    assert agent.founding == number
