"""What tests of temporary clusters share: sandboxes with states, a backend, a stand-in of the engine."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.commands import extend, logs, ls, removal, report_times, run, sandbox_boot, up_and_down, verify, wait
from operations.engine import clusters, workspace
from operations.stacks.target import Target
from tests.operations.commands.runs import Cluster
from tests.operations.states import NOW, STATES, Backend, put

Run = Callable[..., Result]


@pytest.fixture
def removed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sandboxes of STATES at NOW; the names of the removed ones. The check before each removal runs."""
    for name, state in STATES.items():
        put(name, state)
    names: list[str] = []

    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        refuse(dict(clusters.in_sandbox(name)))
        names.append(name)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(expiry, "now", lambda: NOW)
    monkeypatch.setattr(removal, "by_state", by_state)
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    return names


@pytest.fixture
def backend(clone: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The states of a backend for real accounts, by stack."""
    states: dict[str, str] = {}

    @contextmanager
    def opened(*_: Any, **__: Any) -> Any:
        yield Backend(states)

    monkeypatch.setattr(workspace, "opened", opened)
    monkeypatch.setattr(workspace, "has_backend", lambda: True)
    monkeypatch.setattr(ls.locate, "find", lambda: None)
    monkeypatch.setattr(expiry, "now", lambda: NOW)
    return states


@pytest.fixture
def cluster(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A stand-in of the engine for `mullion run`."""
    made = Cluster()
    monkeypatch.setattr(up_and_down, "up", made.up)
    monkeypatch.setattr(up_and_down, "down", made.down)
    monkeypatch.setattr(wait, "wait", made.wait)
    monkeypatch.setattr(sandbox_boot, "boot", made.boot)
    monkeypatch.setattr(verify, "run", made.verify)
    monkeypatch.setattr(logs, "fetch_all", made.logs)
    monkeypatch.setattr(extend, "expire", made.expire)
    monkeypatch.setattr(run, "RETRY_SECONDS", 0.0)
    # the whole program would run at the end of each failed run
    monkeypatch.setattr(report_times, "predict", lambda *_: report_times.Prediction(unknown="not asked"))
    return made


@pytest.fixture
def mullion_run(mullion: Run, clone: Path, cluster: Cluster) -> Run:
    """Give `mullion_run(*options, command=(...))`: a run of the stack small as ci-1."""

    def run_with(*options: str, command: tuple[str, ...] = ("true",)) -> Result:
        words = ("run", "small", "--sandbox", "--name", "ci-1", "--artifacts", str(clone / "art"), *options)
        return mullion(*words, "--", *command)

    return run_with
