"""Printed commands can be pasted: they name the stack, and carry --sandbox for a stack that is built there."""

import ast
import re
from pathlib import Path

import pytest

from operations.stacks import target
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import Target

WITH_SANDBOX = "up|down|scale|upgrade|roll|repair|extend|restore|replace-control-plane|preview"
COMMAND = re.compile(rf"mullion (?:{WITH_SANDBOX}) (?:\{{\w[\w.]*\}}|STACK)(?![^`;]*(?:--sandbox|\{{flag\}}))")
"""A command that takes --sandbox, written without it instead of by `target.command`."""

LITERAL = re.compile(r"(?:mullion [a-z-]+|stacks/Pulumi\.|--stack|-s) ?STACK\b")
SPOKEN = ("_cli.py", "cli_options.py")
"""Files whose text is help, in which STACK names the argument."""


def printed(path: Path) -> list[str]:
    """Return the texts of a file that are no docstrings; a value of an f-string as {name}."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    texts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts.append(
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                    for part in node.values
                    if isinstance(part, (ast.Constant, ast.FormattedValue))
                )
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | parts:
            texts.append(node.value)
    return texts


FILES = [
    path
    for room in ("operations", "components", "sandbox", "lab")
    for path in sorted((REPOSITORY / room).rglob("*.py"))
    if not path.name.endswith(SPOKEN)
]


def test_printed_commands_carry_sandbox_where_the_stack_is_built_there() -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY)}: {text}"
        for path in FILES
        if path.name != "new.py"  # prints both, for a stack that is not built
        for text in printed(path)
        if COMMAND.search(text)
    ]
    assert not wrong, "write {target.command('up', name)}"


def test_no_message_prints_the_word_stack_in_the_place_of_a_name() -> None:
    assert not [
        f"{path.relative_to(REPOSITORY)}: {text}" for path in FILES for text in printed(path) if LITERAL.search(text)
    ]


def test_a_printed_command_has_the_flag_of_the_stacks_target(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULLION_SANDBOX_WORLD", raising=False)
    assert target.command("up", "small") == "mullion up small"
    target.remember("small", Target("sandbox"))
    assert target.command("restore", "small", "--list") == "mullion restore small --list --sandbox"
    target.forget("small")
    monkeypatch.setenv("MULLION_SANDBOX_WORLD", "world.db")
    assert target.command("down", "small") == "mullion down small --sandbox", "the first run is under way"
