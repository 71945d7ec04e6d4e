"""docs/cli.md and the command line agree on every flag; offline commands take each of their flags on every stack."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from operations.__main__ import app
from operations.stacks.paths import REPOSITORY
from tests.operations.test_help import COMMANDS

Run = Callable[..., Result]
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
STACKS = sorted(path.stem.removeprefix("Pulumi.") for path in (REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
OF_THE_ROOT = {"--version", "--install-completion", "--show-completion", "--help"}
OF_OTHER_PROGRAMS = {"-s", "--stack", "--policy-pack"}
"""Flags of pulumi that the page names."""


def documented() -> Iterator[tuple[str, str]]:
    """Give the words of a command and the text that docs/cli.md has about it, for each time it does.

    A text goes from `mullion COMMAND to the next one, or to the end of the paragraph.
    """
    page = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    for paragraph in re.split(r"\n\n", page):
        for part in re.split(r"(?=`mullion )", paragraph)[1:]:
            words = part.removeprefix("`mullion ").split()
            name = next((" ".join(words[:count]) for count in (2, 1) if tuple(words[:count]) in COMMANDS), "")
            yield name, part


def flags(words: tuple[str, ...]) -> set[str]:
    """Return the flags of a command, one for each option: its long form if it has one."""
    options = [param for param in COMMANDS[words].params if param.param_type_name == "option"]
    return {max((opt for opt in option.opts), key=len) for option in options}


def spellings(words: tuple[str, ...]) -> set[str]:
    params: list[Any] = COMMANDS[words].params
    return {spelling for param in params for spelling in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_page_names_every_flag_of_a_command(words: tuple[str, ...]) -> None:
    text = " ".join(part for name, part in documented() if name == " ".join(words))
    named = set(FLAG.findall(text))
    aliases = {max(param.opts, key=len): set(param.opts) for param in COMMANDS[words].params}
    secondary = {max(param.opts, key=len): set(param.secondary_opts) for param in COMMANDS[words].params}
    missing = {flag for flag in flags(words) if not (aliases[flag] | secondary[flag]) & named}
    assert not missing, f"docs/cli.md says nothing of {missing} beside `mullion {' '.join(words)}"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_has_every_flag_that_the_page_gives_it(words: tuple[str, ...]) -> None:
    # the code itself: what follows it may be about another program
    spans = [part.split("`")[1] for name, part in documented() if name == " ".join(words)]
    named = {flag for span in spans for flag in FLAG.findall(span)}
    assert named <= spellings(words) | {"--help"}


def test_every_flag_of_the_page_exists() -> None:
    page = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    code = " ".join(re.findall(r"`[^`]+`", page.replace("\n", " ")))
    known = OF_THE_ROOT | OF_OTHER_PROGRAMS | {flag for words in COMMANDS for flag in spellings(words)}
    assert set(FLAG.findall(code)) <= known


def test_the_root_has_its_flags() -> None:
    assert {spelling for param in typer.main.get_command(app).params for spelling in param.opts} >= OF_THE_ROOT - {
        "--help"
    }


OFFLINE: dict[str, list[tuple[str, ...]]] = {
    "plan": [(), ("--json",), ("--firewall",), ("--against", "{file}"), ("--resources",)],
    "render": [("-o", "{folder}"), ("-o", "{folder}", "--force"), ("--output", "{new}", "--image")],
    "versions": [()],
    "preview": [("--sandbox",)],
    "up": [("--sandbox", "--preview", "--yes", "--refresh")],
    "new": [("--from", "{stack}"), ("--from", "{stack}", "--kubernetes", "{kubernetes}", "--region", "{region}")],
}
"""Commands that need neither an engine nor a network, and what is given to them for each stack."""


@pytest.mark.parametrize("stack", STACKS)
def test_offline_commands_take_their_flags_on_every_stack(
    stack: str, clone: Path, mullion: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = (REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8")
    (clone / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)
    scratch = tmp_path_factory.mktemp(stack)
    document = mullion("plan", stack, "--json").stdout
    (scratch / "plan.json").write_text(document)
    planned = json.loads(document)
    values = {
        "file": str(scratch / "plan.json"),
        "folder": str(scratch / "rendered"),
        "new": str(scratch / "images"),
        "stack": stack,
        "kubernetes": planned["kubernetes"],
        "region": planned["region"],
    }
    for command, lines in OFFLINE.items():
        for number, words in enumerate(lines):
            first = f"copy-{number}" if command == "new" else stack
            result = mullion(command, first, *(word.format(**values) for word in words))
            assert result.exit_code == 0, f"{command} {words}: {result.output}\n{result.exception!r}"


def test_offline_commands_are_tried_with_all_their_flags() -> None:
    elsewhere = {
        ("up", "--bootable"),  # needs built programs of Kubernetes: tests/operations/stacks/test_boot_overlay.py
        ("up", "--kubernetes"),
        ("new", "--cloud"),  # tests/operations/commands/test_new.py
        ("new", "--windows"),
    }
    for command, lines in OFFLINE.items():
        tried = {word for words in lines for word in words if word.startswith("-")}
        aliases = {"-o": "--output", "-y": "--yes"}
        assert flags((command,)) - {aliases.get(word, word) for word in tried} == {
            flag for name, flag in elsewhere if name == command
        }
