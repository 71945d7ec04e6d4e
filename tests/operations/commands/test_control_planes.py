"""The age of a snapshot, and the choice of one. The commands: tests/engine/test_control_planes.py."""

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from operations.commands import control_planes
from operations.commands.control_planes import SnapshotStore, age
from operations.commands.wait import ExpectedMachine, MachineReport, judge, without_instance
from operations.console.exits import Exit, Stop

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=timezone.utc)
STORED = SnapshotStore(
    "b-snapshots", ["etcd/20261121T120000Z-timer.x.db", "etcd/20261120T120000Z-17.y.db"], [], 2, "sha256:a", "aws"
)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("etcd/20261121T120000Z-timer.x.db", "30 min"),
        ("etcd/20261120T120000Z-17.y.db", "24 h 30 min"),
        ("etcd/20261121T123100Z-timer.x.db", "0 min"),
        ("etcd/by-hand.db", ""),
    ],
)
def test_the_age_of_a_snapshot_comes_from_its_key(key: str, text: str) -> None:
    assert age(key, NOW) == text


def test_a_list_without_snapshots_says_so(clone: Path, mullion: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_planes, "_look", lambda name: SnapshotStore("small-snapshots", [], [], 1, "", "aws"))
    listed = mullion("restore", "small", "--list")
    assert (listed.exit_code, listed.stdout) == (0, "bucket small-snapshots has no snapshot of etcd yet\n")


@pytest.mark.parametrize(("kubernetes", "told"), [("1.25.16", False), ("1.26.15", True), ("1.36.4", True)])
def test_a_restore_says_that_controllers_have_to_restart_where_etcd_does_not_tell_them(
    clone: Path, mullion: Any, monkeypatch: pytest.MonkeyPatch, kubernetes: str, told: bool
) -> None:
    file = clone / "stacks/Pulumi.small.yaml"
    file.write_text(re.sub(r"kubernetes: \S+", f"kubernetes: {kubernetes}", file.read_text()))
    monkeypatch.setattr(control_planes, "_look", lambda name: STORED)
    refused = mullion("restore", "small", "--confirm", "large")
    assert refused.exit_code == Exit.REFUSED
    assert ("rollout restart deployment" in refused.stdout) is not told


def test_restore_chooses_the_newest_snapshot_unless_one_is_named() -> None:
    assert control_planes._chosen("prod", STORED, None) == STORED.snapshots[0]
    assert control_planes._chosen("prod", STORED, STORED.snapshots[1]) == STORED.snapshots[1]


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (SnapshotStore("b-snapshots", [], [], 2, "sha256:a", "aws"), "b-snapshots has no snapshot of etcd below etcd/"),
        (
            SnapshotStore("b-snapshots", STORED.snapshots, [], 0, "", "aws"),
            "no record below founding/: prod was never founded",
        ),
    ],
)
def test_restore_refuses_a_bucket_without_snapshot_or_founding_record(stored: SnapshotStore, says: str) -> None:
    with pytest.raises(Stop, match=says) as stop:
        control_planes._chosen("prod", stored, None)
    assert stop.value.code is Exit.FAILED


def test_errors_of_agents_do_not_prevent_the_replacement_of_a_lost_machine(capsys: pytest.CaptureFixture[str]) -> None:
    def report(name: str, **record: Any) -> MachineReport:
        machine = ExpectedMachine(name, "i-1", ("ready",), "1.36.4", control_plane=True)
        return judge(machine, {"state": "ready", "kubernetes": "1.36.4", **record}, {name: True})

    agents = [report("control-plane-0"), report("control-plane-2", agent_errors="etcd: a member does not answer")]
    control_planes._refuse_unready(agents)
    assert "warning: control-plane-2: its agent reports etcd: a member does not answer" in capsys.readouterr().err
    with pytest.raises(Stop, match="lose its quorum:\ncontrol-plane-1: failed") as stop:
        control_planes._refuse_unready([*agents, report("control-plane-1", state="failed")])
    assert stop.value.code is Exit.REFUSED


def test_only_a_ready_machine_has_errors_of_its_agent_alone() -> None:
    """A machine writes any text as its state; a stopped instance is no error of its agent."""
    machine = ExpectedMachine("control-plane-0", "i-1", ("ready",), "1.36.4", control_plane=True)
    hostile = judge(machine, {"state": "its agent reports nothing", "kubernetes": "1.36.4"}, {"control-plane-0": True})
    agent = judge(machine, {"state": "ready", "agent_errors": "etcd: silent"}, {"control-plane-0": True})
    stopped = without_instance(agent, "stopped", "mullion up prod")
    for report in (hostile, stopped):
        with pytest.raises(Stop, match="lose its quorum:\ncontrol-plane-0: its"):
            control_planes._refuse_unready([report])
    control_planes._refuse_unready([agent])
