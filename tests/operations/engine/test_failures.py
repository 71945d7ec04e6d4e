"""What an interruption makes of a run of the engine."""

import signal

import pytest

from operations.console.exits import Exit, Stop
from operations.engine import failures, locks, process, workspace


def test_a_run_that_was_asked_to_stop_and_ended_well_half_way_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the engine does where it removes a stack."""
    asked: list[str] = []
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: asked.append("to stop"))
    monkeypatch.setattr(locks, "cancel_dead", lambda *_: asked.append("no lock"))
    monkeypatch.setattr(workspace, "backend", lambda: None)
    with pytest.raises(Stop, match="interrupted") as stop, failures.reported("dev"):
        signal.raise_signal(signal.SIGINT)
    assert (stop.value.code, asked) == (Exit.INTERRUPTED, ["to stop", "no lock"])
