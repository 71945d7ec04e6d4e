"""Help pages, the version, shell completion."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from components.version import VERSION
from operations.__main__ import app
from operations.console.exits import Exit
from operations.console.help_text import OF_OTHER_TOOLS

Run = Callable[..., Result]
PANELS = ("Clusters", "Temporary clusters", "Inspect", "Change", "Recover", "Downloads", "Self-service", "Sandbox")


def commands(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give the words and the object of every command, those of the sandbox group included."""
    for name, command in (group or typer.main.get_group(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = dict(commands())


def test_help_groups_commands_into_panels_in_whole_lines(mullion: Run) -> None:
    shown = mullion("--help").stdout
    assert [line[:-1] for line in shown.splitlines() if line.endswith(":")] == [
        "Options",
        *(panel for panel in sorted(PANELS, key=shown.index)),
    ]
    assert "..." not in shown.partition("Options:")[2]
    assert "\nCommands:" not in shown, "every command has a panel"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_each_command_has_an_example_that_the_command_line_accepts(words: tuple[str, ...]) -> None:
    epilog = COMMANDS[words].epilog
    examples = [line.strip() for line in epilog.splitlines() if line.startswith("  ")]
    assert examples
    for example in examples:
        program, *rest = shlex.split(example.partition(" >")[0])
        assert program == "mullion"
        assert tuple(rest[: len(words)]) == words
        with COMMANDS[words].make_context(words[-1], rest[len(words) :]):
            pass
    result = CliRunner().invoke(app, [*words, "--help"])
    assert all(f"\n    {example}\n" in result.stdout for example in examples), "each on a line of its own"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_short_option_for_help_shows_the_same_page(words: tuple[str, ...]) -> None:
    short, long = (CliRunner().invoke(app, [*words, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("destroy", "mullion down"),
        ("apply", "mullion up"),
        ("help", "mullion --help"),
        ("version", "mullion --version"),
        ("list", "mullion ls"),
        ("status", "mullion wait"),
    ],
)
def test_a_command_of_another_tool_is_answered_with_the_one_that_does_the_same(
    typed: str, meant: str, mullion: Run
) -> None:
    result = mullion(typed, "aws-dev")
    assert result.exit_code == Exit.USAGE
    assert result.stderr.endswith(f"No such command '{typed}'. Write: {meant}\n")


def test_every_answer_to_a_command_of_another_tool_exists_and_hides_no_command() -> None:
    names = {words[0] for words in COMMANDS if len(words) == 1}
    assert {meant for meant in OF_OTHER_TOOLS.values() if not meant.startswith("-")} <= names
    assert not names & OF_OTHER_TOOLS.keys()


def test_version_is_that_of_the_package(mullion: Run) -> None:
    assert mullion("--version").stdout == f"mullion {VERSION}\n"


def test_completion_offers_the_stacks_of_the_clone(clone: Path) -> None:
    environment = {"_MULLION_COMPLETE": "complete_bash", "COMP_WORDS": "mullion plan sm", "COMP_CWORD": "2"}
    result = CliRunner().invoke(app, [], env=environment, prog_name="mullion")
    assert result.stdout == "small\n"


@pytest.mark.subprocess  # the script for bash asks bash for its version
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_can_be_shown(shell: str) -> None:
    environment = {"_MULLION_COMPLETE": f"source_{shell}"}
    result = CliRunner().invoke(app, [], env=environment, prog_name="mullion")
    assert "_MULLION_COMPLETE" in result.stdout
