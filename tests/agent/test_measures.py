"""The agent's metrics say what its status record says, in a file that node_exporter may read."""

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_rounds import start
from tests.cloud_init.cloud import FakeCloud
from tests.prometheus import parsed

__all__ = ["start"]

FILE = "run/mullion/metrics/agent.prom"


def values(root: Path) -> dict[str, float]:
    """Return the file's samples by name and label, as the client library of Prometheus reads them."""
    return parsed((root / FILE).read_text())


def test_the_active_agent_tells_snapshots_certificates_and_each_concern(
    start: Callable[[], Any], cluster: Cluster, root: Path
) -> None:
    cluster.node("control-plane-0")
    running = start()
    running.round()
    running.round()
    told = values(root)
    assert told["mullion_agent_active"] == 1
    assert told["mullion_snapshots"] == 1
    assert abs(told["mullion_snapshot_newest_timestamp_seconds"] - time.time()) < 60
    assert told["mullion_snapshot_interval_seconds"] == 3600
    assert told["mullion_agent_change_waits"] == 0
    concerns = {name for name in told if name.startswith("mullion_agent_concern_failed")}
    assert {
        'mullion_agent_concern_failed{concern="snapshots"}',
        'mullion_agent_concern_failed{concern="api"}',
    } < concerns
    assert not any(told[name] for name in concerns)
    assert [name for name in told if name.startswith("mullion_certificate_end_timestamp_seconds")]


def test_every_user_may_read_the_files_whatever_the_umask_is(start: Callable[[], Any], root: Path) -> None:
    """node_exporter runs as `nobody`, and the agent with umask 077."""
    start().round()
    assert [f"{each.stat().st_mode & 0o777:o}" for each in (root / FILE, (root / FILE).parent)] == ["644", "755"]
    assert f"{(root / FILE).parents[1].stat().st_mode & 0o777:o}" == "755"


def test_a_failed_concern_is_told_until_it_succeeds(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.node("control-plane-0")
    kept = cloud.objects.pop("/bundles/desired-state.json")
    running = start()
    running.round()
    assert values(root)['mullion_agent_concern_failed{concern="pointer"}'] == 1
    cloud.objects["/bundles/desired-state.json"] = kept
    running.next.clear()
    running.round()
    assert values(root)['mullion_agent_concern_failed{concern="pointer"}'] == 0


def test_an_agent_that_is_not_active_tells_nothing_of_the_store(
    start: Callable[[], Any], cluster: Cluster, root: Path
) -> None:
    """Its count would be of the time when it last had the Lease."""
    running = start()
    running.round()
    running.round()
    assert "mullion_snapshots" in values(root)
    running.lease.hold = lambda api: False
    running.round()
    told = values(root)
    assert told["mullion_agent_active"] == 0
    assert "mullion_snapshots" not in told


def test_an_agent_forgets_the_failures_of_its_time_as_the_active_one(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine's agent runs these concerns now; nothing here would ever end the failure."""
    cluster.node("control-plane-0")
    running = start()
    monkeypatch.setattr(importlib.import_module("agent.snapshots"), "reconcile", lambda *_: 1 / 0)
    running.round()
    running.round()
    failed = 'mullion_agent_concern_failed{concern="snapshots"}'
    assert values(root)[failed] == 1
    running.lease.hold = lambda api: False
    running.round()
    assert failed not in values(root)
    assert "snapshots" not in running.said["errors"]


def test_no_text_of_an_error_is_in_the_file(start: Callable[[], Any], cloud: FakeCloud, root: Path) -> None:
    """Errors may name addresses and objects of the store, and every user of the machine may read the file."""
    cloud.objects.clear()
    start().round()
    assert "store" not in (root / FILE).read_text().replace("snapshot store", "").replace("in the store", "")
