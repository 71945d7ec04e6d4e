"""Messages about a killed or interrupted engine name the command that continues with what the user asked for."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error
from typer.testing import Result

from operations.commands import (
    control_planes,
    down_all,
    drift,
    kubeconfig,
    logs,
    preview,
    repair,
    roll,
    snapshot,
    up_and_down,
    wait,
)
from operations.commands.wait import ExpectedMachine, MachineReport
from operations.console.command_line import continued_by, to_continue
from operations.console.exits import Exit, Stop
from operations.engine import failures
from operations.stacks import target

Mullion = Callable[..., Result]
HERE = target.Target(target.SANDBOX)
COMMANDS: dict[str, tuple[object, str]] = {
    "up small --refresh": (up_and_down, "up"),
    "down small --confirm small": (up_and_down, "down"),
    "down --all --yes": (down_all, "down_all"),
    "roll small web --machine web-0 --sandbox": (roll, "roll"),
    "roll small --resume": (roll, "resume"),
    "repair small --after 30m": (repair, "repair"),
    "replace-control-plane small control-plane-1": (control_planes, "replace"),
    "restore small --confirm small": (control_planes, "restore"),
    "snapshot small": (snapshot, "snapshot"),
    "wait small --timeout 5m": (wait, "wait"),
    "logs small web-0": (logs, "logs"),
    "kubeconfig small -o 'my file'": (kubeconfig, "kubeconfig"),
    "preview small": (preview, "preview"),
    "drift small": (drift, "drift"),
}
"""Command line, and the function that it calls."""


def killed(*_: Any, **__: Any) -> NoReturn:
    """A run of the engine that a signal kills."""
    with failures.reported("small"):
        raise create_command_error(auto.CommandResult("", "", -9))
    raise AssertionError


@pytest.mark.parametrize("line", COMMANDS)
def test_a_killed_run_names_its_own_command(
    line: str, clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, function = COMMANDS[line]
    monkeypatch.setattr(where, function, killed)
    ended = mullion(*shlex.split(line))
    assert ended.exit_code == Exit.FAILED
    assert f"`mullion {line}` recovers and continues" in ended.stderr
    assert not to_continue(), "the next command of this process has its own"


@pytest.mark.parametrize("begun", [False, True], ids=["before the run", "during the run"])
@pytest.mark.parametrize("words", [("upgrade", "small", "1.36.5"), ("scale", "small", "web", "3")], ids=" ".join)
def test_a_change_of_the_file_names_up_once_the_file_keeps_it(
    words: tuple[str, ...], begun: bool, clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`upgrade` with the version that the file has does nothing; before the run the file is restored."""

    def up(name: str, **_: bool) -> None:
        if begun:
            target.remember(name, HERE)
        killed()

    monkeypatch.setattr(up_and_down, "up", up)
    ended = mullion(*words)
    way = "mullion up small --sandbox" if begun else f"mullion {' '.join(words)}"
    assert f"`{way}` recovers and continues" in ended.stderr, ended.stderr


def test_a_finished_roll_names_wait_because_roll_would_replace_the_new_machines(
    monkeypatch: pytest.MonkeyPatch, clone: Path
) -> None:
    monkeypatch.setattr(wait, "watch", killed)
    with continued_by(lambda: "mullion roll small web"), pytest.raises(Stop, match="`mullion wait small` recovers"):
        roll.check("small", ["web-0"], [])


def test_a_replaced_control_plane_names_wait_because_the_same_command_would_replace_it_once_more(
    monkeypatch: pytest.MonkeyPatch, clone: Path, mullion: Mullion
) -> None:
    path = clone / "stacks/Pulumi.small.yaml"
    path.write_text(path.read_text().replace("    pools:", "    control_plane: {count: 3}\n    pools:"))
    looks: list[str] = []

    def watch(name: str, *_: Any, **__: Any) -> list[MachineReport]:
        looks.append(name)
        if len(looks) > 1:
            killed()
        machine = ExpectedMachine("control-plane-0", "i-0", ("ready",), "1.36.4", control_plane=True)
        return [MachineReport(machine, {"state": "ready"}, None, "", only_agent=False)]

    monkeypatch.setattr(wait, "watch", watch)
    monkeypatch.setattr(up_and_down, "up", lambda *_, **__: [])
    ended = mullion("replace-control-plane", "small", "control-plane-1", "--sandbox")
    assert "`mullion wait small` recovers" in ended.stderr, ended.stderr
