"""`mullion roll`: how it continues after an interruption, and how it ends; without an engine."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.rollout import holds
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, up_and_down, wait
from operations.commands.wait import ExpectedMachine, judge
from operations.console.exits import Exit, Stop
from operations.engine import pauses, state
from operations.stacks import target

Mullion = Callable[..., Result]
WORDS = ("roll", "small", "web", "--sandbox", "--yes")


def machine(name: str, instance: str) -> dict[str, Any]:
    return {
        "type": cloud_tables.AWS.machine,
        "urn": f"urn::{name}",
        "id": instance,
        "inputs": {"tags": {"mullion:pool": "web"}},
    }


STATE = [machine("small-web-0", "i-new"), machine("small-web-1", "i-old")]


@pytest.fixture
def file(clone: Path) -> Path:
    """The file of unfinished rolls."""
    path = target.folder("small") / "rolls.json"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """URNs that the engine replaces; each new machine is ready."""
    urns: list[str] = []
    monkeypatch.setattr(up_and_down, "up", lambda *_, replaced, **__: urns.extend(replaced(STATE)) or [])
    records(monkeypatch, "ready")
    return urns


def records(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """Give every machine a status record of this state."""

    def watch(name: str, seconds: float, *, only: list[str]) -> Any:
        expected = [ExpectedMachine(each, f"i-{each}", ("ready",), "1.36.4", control_plane=False) for each in only]
        return [judge(each, {"state": status}, None) for each in expected]

    monkeypatch.setattr(wait, "watch", watch)


def test_an_interrupted_roll_continues_with_the_machines_that_are_still_old(
    file: Path, replaced: list[str], mullion: Mullion
) -> None:
    file.write_text(json.dumps({"web": {"urn::small-web-0": "i-older", "urn::small-web-1": "i-old"}}))
    ended = mullion(*WORDS)
    assert (ended.exit_code, replaced, file.exists()) == (0, ["urn::small-web-1"], False)
    assert "continuing the roll of web: 1 of 2 left" in ended.stderr


@pytest.mark.parametrize("content", ["", "{", "[]", '{"web": 1}', "null"])
def test_a_damaged_file_of_unfinished_rolls_is_named_and_nothing_is_rolled(
    content: str, file: Path, replaced: list[str], mullion: Mullion
) -> None:
    file.write_text(content)
    ended = mullion(*WORDS)
    assert (ended.exit_code, replaced) == (Exit.REFUSED, [])
    assert f"{file} cannot be read" in ended.stderr
    assert "Remove the file" in ended.stderr


def test_a_roll_ends_with_the_machines_that_are_replaced_and_ready(
    file: Path, replaced: list[str], mullion: Mullion
) -> None:
    ended = mullion(*WORDS, "--machine", "web-1")
    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[-1] == "small: web-1 replaced and ready"


def test_a_roll_fails_if_the_new_machine_is_not_ready(
    file: Path, replaced: list[str], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines up to 3.230 only warn of a gate after a creation: `up` ends well."""
    records(monkeypatch, "running")
    ended = mullion(*WORDS, "--machine", "web-1")
    assert ended.exit_code == Exit.FAILED
    assert ended.stderr.splitlines()[-3:] == [
        "mullion: web-1 replaced, but 1 of 1 not ready:",
        "web-1: running",
        "`mullion wait small` waits for the rest",
    ]


def test_a_stopped_roll_ends_with_the_machines_that_were_replaced(
    file: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def up(*_: Any, replaced: Callable[[Any], list[str]], **__: Any) -> None:
        replaced([machine("small-web-0", "i-older"), STATE[1]])
        raise Stop(Exit.FAILED, "stack small: 1 failed")

    @contextmanager
    def built(name: str) -> Iterator[None]:
        yield None

    monkeypatch.setattr(up_and_down, "up", up)
    monkeypatch.setattr(kubeconfig, "built", built)
    monkeypatch.setattr(state, "resources", lambda run: STATE)
    ended = mullion(*WORDS)
    assert ended.exit_code == Exit.FAILED
    assert ended.stderr.splitlines()[-2:] == [
        "mullion: stack small: 1 failed",
        "replaced: web-0; not replaced: web-1; run the same command to continue",
    ]
    assert json.loads(file.read_text())["web"] == {"urn::small-web-0": "i-older", "urn::small-web-1": "i-old"}


def test_a_pause_needs_a_run_and_ends_when_the_next_one_begins(clone: Path, mullion: Mullion) -> None:
    nobody = mullion("roll", "small", "--pause")
    assert (nobody.exit_code, "no run of small is in progress" in nobody.stderr) == (Exit.REFUSED, True)
    with pauses.obeyed("small"):
        assert not holds.paused(), "nobody has asked for a pause yet"
        assert mullion("roll", "small", "--pause").exit_code == Exit.OK
        assert holds.paused()
    assert not holds.paused(), "outside of a run of this command"
    with pauses.obeyed("small"):
        assert not holds.paused(), "the earlier pause has ended"


def test_a_second_run_that_will_be_refused_keeps_the_pause_of_the_first(clone: Path) -> None:
    with pauses.obeyed("small"):
        assert pauses.ask("small")
        with pauses.obeyed("small"):
            assert holds.paused()
        assert holds.paused()


def test_resume_replaces_what_all_unfinished_rolls_left(file: Path, replaced: list[str], mullion: Mullion) -> None:
    rolls = {
        "web": {"urn::small-web-0": "i-older", "urn::small-web-1": "i-old"},
        "web/web-0": {"urn::small-web-0": "i"},
    }
    file.write_text(json.dumps(rolls))
    ended = mullion("roll", "small", "--resume", "--sandbox", "--yes")
    assert (ended.exit_code, replaced, file.exists()) == (0, ["urn::small-web-1"], False), ended.output
    assert "unfinished rolls: web, web/web-0" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["web", "--pause"],
        ["--pause", "--resume"],
        ["--pause", "--sandbox"],
        ["--machine", "web-0", "--resume"],
    ],
)
def test_roll_refuses_flags_that_do_not_fit_together(words: list[str], clone: Path, mullion: Mullion) -> None:
    assert mullion("roll", "small", *words).exit_code == Exit.USAGE
