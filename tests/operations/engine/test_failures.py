"""The result of an interrupted run of the engine."""

import signal

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from operations.console.exits import Exit, Stop
from operations.engine import failures, locks, process, workspace


def test_an_interrupted_run_that_ends_well_half_way_counts_as_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted removal of a stack ends so."""
    asked: list[str] = []
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: asked.append("to stop"))
    monkeypatch.setattr(locks, "cancel_dead", lambda *_: asked.append("no lock"))
    monkeypatch.setattr(workspace, "backend", lambda: None)
    with pytest.raises(Stop, match="interrupted") as stop, failures.reported("dev"):
        signal.raise_signal(signal.SIGINT)
    assert (stop.value.code, asked) == (Exit.INTERRUPTED, ["to stop", "no lock"])


def test_a_stack_that_another_run_holds_is_refused_with_its_holder() -> None:
    """Two reapers in two clones: the backend's lock lets one of them through."""
    text = "error: the stack is currently locked by 1 lock(s)\n  file:///state: created by ci@runner (pid 7) at noon"
    says = r"stack dev is locked by ci@runner \(pid 7\) at noon"
    with pytest.raises(Stop, match=says) as stop, failures.reported("dev"):
        raise create_command_error(auto.CommandResult("", text, 255))
    assert stop.value.code is Exit.REFUSED
