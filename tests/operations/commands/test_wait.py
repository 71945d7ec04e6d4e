"""`mullion wait`: what a machine lacks, when it ends, what it prints."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from components.plan import plan_cluster
from operations.commands import wait
from operations.commands.wait import Awaited, Seen, awaited, plain, seen, until_there
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import stack_files

WORKER = Awaited("web-0", "i-1", ("ready",), "1.36.4", control_plane=False)
REGISTERED = Awaited("web-0", "i-1", ("ready", "registered"), "1.36.4", control_plane=False)
READY = {"state": "ready", "kubernetes": "1.36.4"}
FAILED = {"state": "failed", "phase": "runtime", "step": "docker", "code": 511, "name": "runtime-down", "message": "no"}

CASES: list[tuple[str, Awaited, dict[str, Any], dict[str, bool] | None, str]] = [
    ("ready, no API", WORKER, READY, None, ""),
    ("ready and its Node too", WORKER, READY, {"web-0": True}, ""),
    ("ready, its Node not", WORKER, READY, {"web-0": False}, "its Node is not Ready"),
    ("ready, no such Node", WORKER, READY, {}, "there is no Node of that name"),
    ("registered is enough", REGISTERED, {"state": "registered"}, {"web-0": False}, ""),
    ("registered is not enough", WORKER, {"state": "registered"}, None, "registered"),
    ("an older version", WORKER, {**READY, "kubernetes": "1.35.8"}, None, "it has Kubernetes 1.35.8, not 1.36.4"),
    ("failed, with its number", WORKER, FAILED, None, "failed, E511 runtime-down: no"),
    ("no record", WORKER, {"state": "absent", "message": "NoSuchKey"}, None, "absent, NoSuchKey"),
]


@pytest.mark.parametrize(("each", "record", "nodes", "lacks"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_a_machine_lacks_what_its_record_and_its_node_say(
    each: Awaited, record: dict[str, Any], nodes: dict[str, bool] | None, lacks: str
) -> None:
    assert seen(each, record, nodes).lacks == lacks


def test_each_change_is_told_once_and_the_last_look_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.0)
    looks = [{"state": "running", "phase": "system"}, {"state": "running", "phase": "system"}, READY]
    told: list[str] = []
    last: list[Seen] = []

    async def look() -> list[Seen]:
        return [seen(WORKER, looks.pop(0), None)]

    def say(now: Seen) -> None:
        told.append(f"{now.record['state']} {now.where}")

    assert asyncio.run(until_there(look, 60, last, say))
    assert told == ["running system", "ready "]
    assert [each.lacks for each in last] == [""]


def test_the_time_is_over_before_a_pause_that_would_outlast_it() -> None:
    last: list[Seen] = []

    async def look() -> list[Seen]:
        return [seen(WORKER, FAILED, None)]

    assert not asyncio.run(until_there(look, 1, last, lambda _: None))
    assert last[0].where == "runtime/docker"


def test_what_a_machine_writes_does_nothing_to_a_terminal() -> None:
    hostile = seen(WORKER, {"state": "fa\x1b[2Jiled", "message": "a\r\nb", "phase": "\x07"}, None)
    assert hostile.lacks == "fa [2Jiled, a  b"
    assert not [each for each in wait.shown([hostile]).replace("\n", "") if not each.isprintable()]
    assert plain(None) == ""


def test_machines_that_are_not_made_and_a_state_without_stores_are_named(clone: Path) -> None:
    plan = plan_cluster("small", stack_files.load("small").spec)
    with pytest.raises(Stop, match="not made yet: control-plane-0, linux-0, web-0, web-1; `mullion up small`") as stop:
        awaited(plan, [])
    assert stop.value.code is Exit.FAILED
    with pytest.raises(Stop, match="the state of small has no"):
        state.stores("small", [])


@pytest.mark.parametrize("text", ["soon", "10", "-1s"])
def test_a_timeout_that_is_no_duration_is_refused(text: str, clone: Path, mullion: Any) -> None:
    result = mullion("wait", "small", "--timeout", text)
    assert result.exit_code == 2
    assert "--timeout" in result.stderr
