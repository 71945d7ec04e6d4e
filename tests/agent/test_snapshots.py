"""Snapshots are taken by etcd, verified, stored under their digest, and pruned."""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.node import agent
from components.rollout.signed_documents import is_signed_snapshot
from tests.agent.cluster import Cluster
from tests.agent.conftest import KEY
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud
from tests.cloud_init.linux import Programs
from tools.golden.samples import content, plan

DAY = 86400
DATABASE = b"pages of a database" * 1000
WHOLE = DATABASE + hashlib.sha256(DATABASE).digest()


@pytest.fixture
def config(root: Path, programs: Programs) -> dict[str, Any]:
    """Return the plan's configuration; etcd's container writes a complete snapshot."""
    configuration = content(plan(None), "agent-config")
    programs.answers["/usr/local/bin/crictl"] = (0, "c0ffee\n")
    place = root / agent.CONFIG.lstrip("/")
    file = root / configuration["snapshots"]["file"].lstrip("/")
    file.parent.mkdir(parents=True)
    place.parent.mkdir(parents=True)
    programs.effects["/usr/local/bin/crictl --runtime-endpoint unix:///run/containerd/containerd.sock exec"] = lambda: (
        file.write_bytes(WHOLE)
    )
    return configuration


def test_the_stack_file_says_how_often_snapshots_are_taken_and_how_long_they_stay() -> None:
    chosen = content(plan(None, snapshots={"every_minutes": 30, "keep_days": 14}), "agent-config")["snapshots"]
    default = content(plan(None), "agent-config")["snapshots"]
    longer = content(plan(None, snapshots={"keep_daily": 30, "keep_weekly": 12}), "agent-config")["snapshots"]
    assert (chosen["every_minutes"], chosen["days"], chosen["keep"]) == (30, 14, 24)
    assert (default["every_minutes"], default["days"], default["keep"]) == (60, 7, 24)
    assert [(each["daily"], each["weekly"]) for each in (default, longer)] == [(0, 0), (30, 12)]


@EACH_CLOUD
def test_a_snapshot_is_stored_under_its_digest_and_leaves_no_file(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    programs: Programs,
    root: Path,
) -> None:
    key = module("snapshots").make(run, config, "timer", 1795600000.0)
    assert cloud.objects[f"/snapshots/{key}"] == WHOLE
    begin, mac = key.removesuffix(".db").rsplit(".", 1)
    assert begin == f"etcd/20261125T094640Z-timer.{hashlib.sha256(WHOLE).hexdigest()}"
    assert mac == hmac.new(KEY.encode(), begin.encode(), hashlib.sha256).hexdigest()
    assert is_signed_snapshot(KEY, key), "the program must take it"
    assert not (root / "var/lib/etcd/mullion.snapshot").exists()
    exec_line = programs.asked[-1]
    assert exec_line[3:6] == ["exec", "c0ffee", "etcdctl"]
    assert exec_line[-3:] == ["snapshot", "save", "/var/lib/etcd/mullion.snapshot"]
    assert not cloud.refused()


def test_an_incomplete_snapshot_is_not_stored(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    root: Path,
    programs: Programs,
) -> None:
    file = root / "var/lib/etcd/mullion.snapshot"
    (line,) = programs.effects
    programs.effects[line] = lambda: file.write_bytes(WHOLE[:-40])
    with pytest.raises(Exception, match="not a complete snapshot"):
        module("snapshots").make(run, config, "timer", 1795600000.0)
    assert not [each for each in cloud.objects if each.startswith("/snapshots/etcd/")]
    assert not file.exists()


@EACH_CLOUD
def test_a_snapshot_is_taken_every_hour_and_the_oldest_are_deleted(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud, config: dict[str, Any]
) -> None:
    snapshots = module("snapshots")
    other = "/snapshots/founding/0"
    cloud.objects[other] = b"a record of who founds"
    config["snapshots"] |= {"keep": 2}
    counts = []
    for hours in (0, 0.5, 1, 2, 24 * 7 + 1.5, 24 * 7 + 4):
        said = snapshots.reconcile(run, config, snapshots.seconds("20261121T000000Z") + hours * 3600)
        counts.append(said["count"])
        assert f"/snapshots/{said['newest']}" in cloud.objects
    assert counts == [1, 1, 2, 3, 2, 2]
    assert other in cloud.objects


def test_retention_is_by_age_and_keeps_the_newest(module: Callable[[str], ModuleType]) -> None:
    snapshots = module("snapshots")
    kept = [snapshots.Snapshot(days * DAY, f"{days}") for days in (1, 2, 3, 100)]
    week = {"days": 7, "daily": 0, "weekly": 0}
    assert [each.key for each in snapshots.surplus(kept, 100 * DAY, {**week, "keep": 2})] == ["2", "1"]
    assert snapshots.surplus(kept, 1000 * DAY, {**week, "keep": 4}) == []


def test_the_last_snapshot_of_each_day_and_of_each_week_stays_longer(module: Callable[[str], ModuleType]) -> None:
    """Lives through 100 days with a snapshot each 6 hours; the calendar of Python is the judge of days and weeks."""
    snapshots = module("snapshots")
    begin, kept = datetime(2026, 9, 1, 3, tzinfo=timezone.utc), list[Any]()
    section = {"keep": 4, "days": 2, "daily": 10, "weekly": 8}
    for nth in range(400):
        now = (begin + nth * timedelta(hours=6)).timestamp()
        kept.append(snapshots.Snapshot(now, f"{nth}"))
        gone = snapshots.surplus(kept, now, section)
        kept = [each for each in kept if each not in gone]
    end = begin + 399 * timedelta(hours=6)
    made = [datetime.fromtimestamp(each.at, timezone.utc) for each in kept]
    young, days, weeks = ([at for at in made if end - at <= timedelta(days=most)] for most in (2, 10, 56))
    assert len(young) == 9
    assert {at.date() for at in days} == {(end - timedelta(days=each)).date() for each in range(11)}
    assert all(at.hour == 21 for at in made if at < young[0]), "the last of the day"
    older = [at for at in weeks if end - at > timedelta(days=10)]
    assert [at.isocalendar()[1] for at in older] == sorted({at.isocalendar()[1] for at in older})
    assert all(at.isoweekday() == 7 for at in older), "the last of the week"
    assert len({at.isocalendar()[1] for at in weeks}) == 9, "eight whole weeks and the current one"
    assert weeks == made, "nothing is older than the weeks"


def test_a_snapshot_is_due_an_interval_after_the_last(module: Callable[[str], ModuleType]) -> None:
    snapshots = module("snapshots")
    assert snapshots.due([], DAY, 60)
    assert snapshots.due([snapshots.Snapshot(DAY - 3601, "an hour ago")], DAY, 60)
    assert not snapshots.due([snapshots.Snapshot(DAY - 60, "a minute ago")], DAY, 60)


REQUEST = "/api/v1/namespaces/kube-system/configmaps/mullion-snapshot"
FIRST, SECOND = "1" * 32, "2" * 32
"""Ids of requests."""


def test_a_requested_snapshot_is_taken_once_and_its_key_is_the_answer(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud, config: dict[str, Any], cluster: Cluster
) -> None:
    snapshots = module("snapshots")
    snapshots.answer(run, config, cluster, 1795600000.0)
    assert not [key for key in cloud.objects if key.startswith("/snapshots/etcd/")], "nobody requested one"
    cluster.add(REQUEST.rpartition("/")[0], "mullion-snapshot", data={"request": FIRST})
    for _ in range(2):
        snapshots.answer(run, config, cluster, 1795600000.0)
    (stored,) = [key for key in cloud.objects if key.startswith("/snapshots/etcd/")]
    key = stored.removeprefix("/snapshots/")
    assert json.loads(cluster.objects[REQUEST]["data"]["answer"]) == {"request": FIRST, "key": key}
    assert key.startswith("etcd/20261125T094640Z-command.")
    assert is_signed_snapshot(KEY, key)
    assert [each.key for each in snapshots.stored(run, 1795600000.0)[0]] == [key]


def test_the_answer_to_a_request_that_fails_is_the_error(
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    cluster: Cluster,
    programs: Programs,
) -> None:
    (line,) = programs.effects
    programs.effects[line] = lambda: (run.path("/var/lib/etcd/mullion.snapshot")).write_bytes(WHOLE[:-40])
    cluster.add(REQUEST.rpartition("/")[0], "mullion-snapshot", data={"request": FIRST})
    with pytest.raises(Exception, match="not a complete snapshot"):
        module("snapshots").answer(run, config, cluster, 1795600000.0)
    answer = json.loads(cluster.objects[REQUEST]["data"]["answer"])
    assert (answer["request"], "not a complete snapshot" in answer["error"]) == (FIRST, True)
    module("snapshots").answer(run, config, cluster, 1795600000.0)
    assert not [key for key in cloud.objects if key.startswith("/snapshots/etcd/")], "a request is tried once"


def test_a_request_that_came_during_a_snapshot_is_answered_next(
    module: Callable[[str], ModuleType],
    run: Any,
    config: dict[str, Any],
    cluster: Cluster,
    programs: Programs,
) -> None:
    folder = REQUEST.rpartition("/")[0]
    cluster.add(folder, "mullion-snapshot", data={"request": FIRST})
    ((line, save),) = programs.effects.items()

    def during() -> None:
        save()
        cluster.add(folder, "mullion-snapshot", data={"request": SECOND})
        programs.effects[line] = save

    programs.effects[line] = during
    snapshots = module("snapshots")
    snapshots.answer(run, config, cluster, 1795600000.0)
    assert cluster.objects[REQUEST]["data"] == {"request": SECOND}
    snapshots.answer(run, config, cluster, 1795600060.0)
    assert json.loads(cluster.objects[REQUEST]["data"]["answer"])["request"] == SECOND
