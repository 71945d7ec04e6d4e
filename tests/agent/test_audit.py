"""The agent copies the audit log to the snapshot store: every line, in pieces, and deletes old ones."""

import gzip
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

CONFIG = {"audit": {"folder": "/audit", "days": 30}}
NOW = 1795785907.0  # 2026-11-27 13:25:07 UTC
SHIPPED = "/snapshots/audit/"


def lines(first: int, count: int) -> bytes:
    return b"".join(b'{"auditID":"%08d"}\n' % number for number in range(first, first + count))


@pytest.fixture
def audit(module: Callable[[str], ModuleType], root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module; the folder of the log exists, and pieces are small."""
    (root / "audit").mkdir(parents=True)
    made = module("audit")
    monkeypatch.setattr(made, "PIECE", 400)
    monkeypatch.setattr(made, "LEAST", 100)
    return made


def copied(cloud: FakeCloud) -> list[bytes]:
    """Return the lines of all pieces, in the order of their times."""
    keys = sorted((key for key in cloud.objects if key.startswith(SHIPPED)), key=_order)
    return b"".join(gzip.decompress(cloud.objects[key]) for key in keys).splitlines(keepends=True)


def _order(key: str) -> str:
    return key.partition("-")[0]


@EACH_CLOUD
def test_every_line_is_copied_once_with_the_machines_rights(
    audit: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    log = root / "audit/audit.log"
    log.write_bytes(lines(0, 12) + b'{"auditID":"not who')
    said = audit.reconcile(run, CONFIG, NOW)
    assert said == {"last": "2026-11-27T13:25:07Z", "lost": 0}
    [key] = [key for key in cloud.objects if key.startswith(SHIPPED)]
    me = run.cloud.instance()
    assert key.startswith(f"{SHIPPED}20261127/132507.0-control-plane-0-{me}-") and key.endswith("-0.log.gz")
    assert b"".join(copied(cloud)) == lines(0, 12), "no half line"
    with log.open("ab") as file:
        file.write(b'le"}\n' + lines(12, 8))
    audit.reconcile(run, CONFIG, NOW + 10)
    log.rename(root / "audit/audit-2026-11-27T13-25-20.123.log")
    log.write_bytes(lines(30, 7))
    audit.reconcile(run, CONFIG, NOW + 20)
    wanted = lines(0, 12) + b'{"auditID":"not whole"}\n' + lines(12, 8) + lines(30, 7)
    assert b"".join(copied(cloud)) == wanted
    assert not cloud.refused()


def test_a_growing_file_waits_for_a_piece_worth_a_request(
    audit: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    log = root / "audit/audit.log"
    log.write_bytes(lines(0, 6))
    audit.reconcile(run, CONFIG, NOW)
    log.write_bytes(lines(0, 7))
    audit.reconcile(run, CONFIG, NOW + 60)
    assert copied(cloud) == lines(0, 6).splitlines(keepends=True)
    audit.reconcile(run, CONFIG, NOW + 301)
    assert b"".join(copied(cloud)) == lines(0, 7)


def test_a_round_copies_a_limited_amount_and_the_next_continues(
    audit: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    (root / "audit/audit.log").write_bytes(lines(0, 200))
    audit.reconcile(run, CONFIG, NOW)
    assert len([key for key in cloud.objects if key.startswith(SHIPPED)]) == audit.PIECES
    for second in range(1, 6):
        audit.reconcile(run, CONFIG, NOW + second)
    assert b"".join(copied(cloud)) == lines(0, 200)


@pytest.mark.parametrize("compressed", [False, True])
def test_files_renamed_while_the_agent_was_down_are_copied_whole(
    audit: ModuleType, run: Any, cloud: FakeCloud, root: Path, compressed: bool
) -> None:
    log, old = root / "audit/audit.log", root / "audit/audit-2026-11-27T13-25-20.123.log"
    log.write_bytes(lines(0, 6))
    audit.reconcile(run, CONFIG, NOW)
    if compressed:
        old.with_name(f"{old.name}.gz").write_bytes(gzip.compress(lines(0, 9)))
    else:
        old.write_bytes(lines(0, 9))
    (root / "audit/audit-2026-11-27T13-26-20.123.log").write_bytes(lines(20, 6))
    log.write_bytes(lines(40, 6))
    audit.reconcile(run, CONFIG, NOW + 1)
    assert b"".join(copied(cloud)) == lines(0, 9) + lines(20, 6) + lines(40, 6)


def test_a_store_that_fails_loses_no_line(audit: ModuleType, run: Any, cloud: FakeCloud, root: Path) -> None:
    (root / "audit/audit.log").write_bytes(lines(0, 6))
    cloud.services.faults.plan("* PUT */audit/*", "refuse", "denied", times=1)
    with pytest.raises(importlib.import_module("failure").Failure, match="audit/20261127/132507"):
        audit.reconcile(run, CONFIG, NOW)
    audit.reconcile(run, CONFIG, NOW + 1)
    assert b"".join(copied(cloud)) == lines(0, 6)


def test_a_log_that_was_deleted_before_it_was_copied_is_counted(
    audit: ModuleType, run: Any, cloud: FakeCloud, root: Path
) -> None:
    log = root / "audit/audit.log"
    log.write_bytes(lines(0, 6))
    audit.reconcile(run, CONFIG, NOW)
    log.write_bytes(lines(90, 6))
    assert audit.reconcile(run, CONFIG, NOW + 1)["lost"] == 1
    assert audit.reconcile(run, CONFIG, NOW + 2)["lost"] == 1
    assert b"".join(copied(cloud)) == lines(0, 6) + lines(90, 6)


def test_nothing_is_copied_with_zero_days(audit: ModuleType, run: Any, cloud: FakeCloud, root: Path) -> None:
    (root / "audit/audit.log").write_bytes(lines(0, 6))
    for config in ({}, {"audit": {"folder": "/audit", "days": 0}}):
        assert audit.reconcile(run, config, NOW) == {}
        audit.prune(run, config, NOW)
    assert not cloud.asked


@EACH_CLOUD
def test_pieces_older_than_the_limit_are_deleted_and_nothing_else(
    audit: ModuleType, run: Any, cloud: FakeCloud
) -> None:
    pieces = [f"/snapshots/audit/{day}/120000.0-control-plane-0-i-1-00000000-0.log.gz" for day in (20261027, 20261028)]
    others = ["/snapshots/audit/20200101/notes", "/snapshots/founding/0", "/snapshots/etcd/x"]
    cloud.objects |= dict.fromkeys((*pieces, *others), b"x")
    audit.prune(run, CONFIG, NOW)
    assert {key for key in cloud.objects if key.startswith("/snapshots/")} == {pieces[1], *others}
    assert not cloud.refused()
