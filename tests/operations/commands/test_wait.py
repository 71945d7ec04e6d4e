"""`mullion wait`: which problem a machine has, when the wait ends, what it prints."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.plan import plan_cluster
from components.rollout.provider_calls import NO_RECORD
from operations.commands import wait
from operations.commands.wait import ExpectedMachine, MachineReport, expected_machines, judge, until_ready
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import machine_records, stack_files

WORKER = ExpectedMachine("web-0", "i-1", ("ready",), "1.36.4", control_plane=False)
REGISTERED = ExpectedMachine("web-0", "i-1", ("ready", "registered"), "1.36.4", control_plane=False)
ROTATED = replace(WORKER, authorities=("a1", "b2"))
UNTRUSTED = "it does not trust the certificate authorities of this number yet (docs/pki.md)"
NONE_YET = "it has written no status record yet"
READY = {"state": "ready", "kubernetes": "1.36.4"}
FAILED = {"state": "failed", "phase": "runtime", "step": "docker", "code": 511, "name": "runtime-down", "message": "no"}

CASES: list[tuple[str, ExpectedMachine, dict[str, Any], dict[str, bool] | None, str]] = [
    ("ready, no API", WORKER, READY, None, ""),
    ("ready and its Node too", WORKER, READY, {"web-0": True}, ""),
    ("ready, its Node not", WORKER, READY, {"web-0": False}, "its Node is not Ready"),
    ("ready, no such Node", WORKER, READY, {}, "the cluster has no Node of this name"),
    ("registered is enough", REGISTERED, {"state": "registered"}, {"web-0": False}, ""),
    ("registered is not enough", WORKER, {"state": "registered"}, None, "registered"),
    ("an older version", WORKER, {**READY, "kubernetes": "1.35.8"}, None, "it runs Kubernetes 1.35.8, not 1.36.4"),
    ("failed, with its number", WORKER, FAILED, None, "failed, E511 runtime-down: no"),
    ("an agent's error", WORKER, {**READY, "agent_errors": "space: full"}, None, "its agent reports space: full"),
    ("its Node before its agent", WORKER, {**READY, "agent_errors": "x"}, {"web-0": False}, "its Node is not Ready"),
    ("trusts what it has to", ROTATED, {**READY, "authorities": "b2,a1"}, {"web-0": True}, ""),
    ("trusts other authorities", ROTATED, {**READY, "authorities": "b2"}, {"web-0": True}, UNTRUSTED),
    (
        *("signs by another one", replace(ROTATED, control_plane=True), {**READY, "authorities": "b2,a1"}),
        *({"web-0": True}, UNTRUSTED),
    ),
    ("its bundle is older than rotations", ROTATED, READY, {"web-0": True}, UNTRUSTED),
    ("no record", WORKER, {"state": "absent", "message": NO_RECORD}, None, f"absent, {NONE_YET}"),
    ("no access", WORKER, {"state": "absent", "message": "AccessDenied"}, None, "absent, AccessDenied"),
]


@pytest.mark.parametrize(
    ("machine", "record", "nodes", "problem"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_machine_has_the_problem_that_its_record_and_its_node_name(
    machine: ExpectedMachine, record: dict[str, Any], nodes: dict[str, bool] | None, problem: str
) -> None:
    assert judge(machine, record, nodes).problem == problem


def test_each_change_is_printed_once_and_the_last_look_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.0)
    looks = [{"state": "running", "phase": "system"}, {"state": "running", "phase": "system"}, READY]
    said: list[str] = []
    reports: list[MachineReport] = []

    async def look() -> list[MachineReport]:
        return [judge(WORKER, looks.pop(0), None)]

    def say(report: MachineReport) -> None:
        said.append(f"{report.record['state']} {report.where}")

    assert asyncio.run(until_ready(look, 60, reports, say))
    assert said == ["running system", "ready "]
    assert [each.problem for each in reports] == [""]


def test_the_wait_ends_before_a_pause_that_would_outlast_its_timeout() -> None:
    reports: list[MachineReport] = []

    async def look() -> list[MachineReport]:
        return [judge(WORKER, FAILED, None)]

    assert not asyncio.run(until_ready(look, 1, reports, lambda _: None))
    assert reports[0].where == "runtime/docker"


def test_a_machines_record_cannot_control_the_terminal() -> None:
    hostile = judge(WORKER, {"state": "fa\x1b[2Jiled", "message": "a\r\nb", "phase": "\x07"}, None)
    assert hostile.problem == "fa [2Jiled, a  b"
    assert not [each for each in wait.table_of([hostile]).replace("\n", "") if not each.isprintable()]


def test_machines_that_are_not_created_and_stores_missing_in_the_state_are_named(clone: Path) -> None:
    plan = plan_cluster("small", stack_files.load("small").spec)
    with pytest.raises(
        Stop, match="not created yet: control-plane-0, linux-0, web-0, web-1; `mullion up small`"
    ) as stop:
        expected_machines(plan, [])
    assert stop.value.code is Exit.FAILED
    with pytest.raises(Stop, match="the state of small has no store of bundles or snapshots, because its first run"):
        state.stores("small", [])


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("gone", "the cloud no longer has instance i-1; run: mullion up small --refresh"),
        ("stopped", "its instance i-1 does not run"),
        ("", ""),
    ],
)
def test_a_ready_record_does_not_hide_that_the_instance_does_not_run(fault: str, problem: str) -> None:
    report = wait.without_instance(judge(WORKER, READY, None), fault, "mullion up small --refresh")
    assert (report.problem, report.gone) == (problem, fault == "gone")


def test_a_wait_keeps_what_it_saw_last_for_the_report_without_secrets(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = judge(WORKER, {**FAILED, "message": "password: hunter2hunter2", "seconds": 61.5}, None)
    monkeypatch.setattr(wait, "watch", lambda *_: [failed])
    with pytest.raises(Stop, match="1 of 1 machines are not ready"):
        wait.wait("small", "1s")
    [(name, kept)] = machine_records.read("small").items()
    assert (name, kept["instance"], kept["seconds"], kept["step"]) == ("web-0", "i-1", 61.5, "docker")
    assert "message" not in kept and kept["problem"] == "failed, E511 runtime-down: password: [secret]"
    machine_records.forget("small")
    assert machine_records.read("small") == {}


def test_a_gone_instance_ends_the_wait_at_once() -> None:
    async def look() -> list[MachineReport]:
        return [wait.without_instance(judge(WORKER, READY, None), "gone", "mullion up small --refresh")]

    assert not asyncio.run(until_ready(look, 3600, [], lambda _: None))


def test_a_wait_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.0)
    monkeypatch.setattr("operations.console.heartbeat.EVERY_SECONDS", 0.0)
    looks = [FAILED, READY]

    async def look() -> list[MachineReport]:
        return [judge(WORKER, looks.pop(0), None)]

    assert asyncio.run(until_ready(look, 60, [], lambda _: None))
    assert "mullion: waiting for web-0: failed, E511 runtime-down: no (0 s)\n" in capsys.readouterr().err


def test_a_wait_repeats_a_problem_only_by_the_machines_name_and_state(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.0)
    monkeypatch.setattr("operations.console.heartbeat.EVERY_SECONDS", 0.0)
    other = {**FAILED, "message": "again"}
    looks = [FAILED, FAILED, other, other, READY]

    async def look() -> list[MachineReport]:
        return [judge(WORKER, looks.pop(0), None)]

    assert asyncio.run(until_ready(look, 60, [], lambda _: None))
    said = [line.partition("web-0: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        *("failed, E511 runtime-down: no (0 s)", "failed (0 s)"),
        *("failed, E511 runtime-down: again (0 s)", "failed (0 s)"),
    ]


@pytest.mark.parametrize("text", ["soon", "10", "-1s"])
def test_a_timeout_that_is_not_a_duration_is_refused(text: str, clone: Path, mullion: Any) -> None:
    result = mullion("wait", "small", "--timeout", text)
    assert result.exit_code == 2
    assert "--timeout" in result.stderr
