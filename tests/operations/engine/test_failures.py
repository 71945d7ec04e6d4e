"""Errors and exit codes of engine runs that were interrupted or that found the stack locked."""

import signal

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from operations.console.exits import Exit, Stop
from operations.engine import failures, locks, process, workspace


def test_an_interrupted_run_that_the_engine_ends_without_an_error_counts_as_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`mullion down` interrupted half way: the engine stops after the current resource and reports no error."""
    asked: list[str] = []
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: asked.append("to stop"))
    monkeypatch.setattr(locks, "cancel_dead", lambda *_: asked.append("no lock"))
    monkeypatch.setattr(workspace, "backend", lambda: None)
    with pytest.raises(Stop, match="interrupted") as stop, failures.reported("dev"):
        signal.raise_signal(signal.SIGINT)
    assert (stop.value.code, asked) == (Exit.INTERRUPTED, ["to stop", "no lock"])


def test_a_stack_locked_by_another_run_is_refused_with_the_owner_of_the_lock() -> None:
    """Happens when `mullion reap` runs in two clones at once: the backend's lock admits one of them."""
    text = "error: the stack is currently locked by 1 lock(s)\n  file:///state: created by ci@runner (pid 7) at noon"
    says = r"stack dev is locked by ci@runner \(pid 7\) at noon"
    with pytest.raises(Stop, match=says) as stop, failures.reported("dev"):
        raise create_command_error(auto.CommandResult("", text, 255))
    assert stop.value.code is Exit.REFUSED
