"""`mullion repair`: which workers it replaces, and when it refuses; without an engine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.clouds import cloud_tables
from operations.commands import kubeconfig, up_and_down, wait
from operations.commands.wait import ExpectedMachine, MachineReport, judge, without_instance
from operations.console.exits import Exit
from operations.engine import state

Mullion = Callable[..., Result]
READY = {"state": "ready", "kubernetes": "1.36.4"}
FAILED = {"state": "failed", "phase": "runtime", "step": "docker", "message": "no"}
RUNNING = {"state": "running", "phase": "downloads"}
LONG_AGO = "2026-01-01T00:00:00.123456789Z"


def report(name: str, record: dict[str, Any], node: bool = True, fault: str = "") -> MachineReport:
    """Return what `mullion wait` finds out about a machine."""
    machine = ExpectedMachine(name, f"i-{name}", ("ready",), "1.36.4", control_plane=name.startswith("control-plane"))
    return without_instance(judge(machine, record, {name: node}), fault, "mullion up")


@pytest.fixture
def replaced(clone: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Machines of the stack `small` that the engine replaces; afterwards all are ready."""
    assert clone
    names: list[str] = []

    def up(*_: Any, replaced: Callable[[Any], list[str]], **__: Any) -> list[str]:
        names.extend(urn.removeprefix("urn::small-") for urn in replaced(state.resources(None)))  # type: ignore[arg-type]
        reports(monkeypatch, *(report(each, READY) for each in names))
        return []

    monkeypatch.setattr(up_and_down, "up", up)
    return names


def reports(monkeypatch: pytest.MonkeyPatch, *found: MachineReport, created: str = LONG_AGO) -> None:
    """Have `wait` find these machines, which the state has."""

    @contextmanager
    def built(name: str) -> Iterator[None]:
        yield None

    tags = {"tags": {"mullion:cluster": "small"}}
    resources = [
        {
            "type": cloud_tables.AWS.machine,
            "urn": f"urn::small-{each.expected.name}",
            "created": created,
            "outputs": tags,
        }
        for each in found
    ]
    monkeypatch.setattr(wait, "watch", lambda *_, **__: list(found))
    monkeypatch.setattr(kubeconfig, "built", built)
    monkeypatch.setattr(state, "resources", lambda run: resources)


HEALTHY = (report("control-plane-0", READY), report("linux-0", READY), report("web-0", READY))
OUTDATED = report("web-1", {**READY, "kubernetes": "1.35.8"})
AGENT = report("control-plane-0", {**READY, "agent_errors": "space: full"})


@pytest.mark.parametrize(
    "broken",
    [
        report("web-1", FAILED),
        report("web-1", READY, node=False),
        report("web-1", RUNNING),
        report("web-1", READY, fault=cloud_tables.STOPPED),
        report("web-1", READY, fault=cloud_tables.GONE),
    ],
    ids=["failed", "node-not-ready", "still-running", "stopped", "gone"],
)
def test_it_replaces_a_worker_that_is_not_ready_and_no_other(
    broken: MachineReport, replaced: list[str], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports(monkeypatch, *HEALTHY, broken)
    ended = mullion("repair", "small", "--sandbox", "--yes")
    assert (ended.exit_code, replaced) == (0, ["web-1"]), ended.stderr
    assert f"to be replaced: web-1: {broken.problem}" in ended.stdout
    assert ended.stdout.endswith("small: web-1 replaced and ready\n")


@pytest.mark.parametrize(
    ("found", "created"),
    [
        (HEALTHY, LONG_AGO),
        ((*HEALTHY, OUTDATED), LONG_AGO),
        ((AGENT, *HEALTHY[1:]), LONG_AGO),
        ((*HEALTHY, report("web-1", FAILED)), "2999-01-01T00:00:00Z"),
    ],
    ids=["all-ready", "older-kubernetes", "agent-error", "may-still-boot"],
)
def test_it_replaces_nothing_if_no_worker_is_broken(
    found: tuple[MachineReport, ...],
    created: str,
    replaced: list[str],
    mullion: Mullion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports(monkeypatch, *found, created=created)
    ended = mullion("repair", "small", "--sandbox", "--yes")
    assert (ended.exit_code, replaced) == (0, []), ended.stderr
    assert "small: no worker has to be replaced" in ended.stdout
    assert [line for line in ended.stderr.splitlines() if line.startswith("not repaired: ")] == [
        f"not repaired: {each.expected.name}: {each.problem}" for each in found if each.problem
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((report("control-plane-0", FAILED), report("web-0", FAILED)), "while the control plane is not ready"),
        ((*HEALTHY[:2], report("web-0", FAILED), report("web-1", FAILED)), "2 of 2 machines of pool web"),
    ],
    ids=["control-plane", "most-of-a-pool"],
)
def test_it_refuses_if_the_fault_is_likely_elsewhere(
    found: tuple[MachineReport, ...],
    said: str,
    replaced: list[str],
    mullion: Mullion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports(monkeypatch, *found)
    ended = mullion("repair", "small", "--sandbox", "--yes")
    assert (ended.exit_code, replaced, said in ended.stderr) == (Exit.REFUSED, [], True), ended.stderr


def test_a_worker_without_an_instance_is_replaced_first(
    replaced: list[str], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch ends at once if an instance is gone, so other machines were not watched."""
    reports(monkeypatch, *HEALTHY, report("linux-0", FAILED), report("web-1", READY, fault=cloud_tables.GONE))
    ended = mullion("repair", "small", "--sandbox", "--yes")
    assert (ended.exit_code, replaced) == (0, ["web-1"]), ended.stderr
    assert "not repaired: linux-0" in ended.stderr
    assert "run mullion repair small" in " ".join(ended.stdout.split())


def test_it_refuses_a_text_that_is_not_a_duration(mullion: Mullion) -> None:
    ended = mullion("repair", "small", "--after", "soon", "--sandbox")
    assert (ended.exit_code, "--after 'soon' is not a duration" in ended.stderr) == (Exit.USAGE, True)
