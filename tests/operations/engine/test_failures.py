"""The result of an interrupted run of the engine."""

import signal

import pytest

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
