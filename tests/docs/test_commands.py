"""Commands, options and make targets that pages name exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from operations.__main__ import app
from tests.docs import pages

COMMAND = re.compile(r"(?:^|[\s`;|&(])(?:\.venv/bin/)?mullion ((?:[a-z][a-z-]*)(?: [^`\n#|;&]*)?)")
MAKE = re.compile(r"(?:^|`|\$ )make ([a-z]+)", re.MULTILINE)
GROUP: Any = typer.main.get_command(app)
CODE = re.compile(r"`(?!``)([^`]+)`", re.DOTALL)


def quoted(page: Path) -> list[str]:
    """Return what a page has in code: inline spans, joined over line ends, and lines of fenced shell blocks."""
    spans = [" ".join(span.split()) for span in CODE.findall(pages.prose(page))]
    blocks = [text for language, text in pages.fences(page) if language in ("", "sh", "shell", "console")]
    return [*spans, *(line for text in blocks for line in text.splitlines())]


def find(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words name and the words after it; None if no such command exists."""
    command = GROUP
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return None, words
        command, words = command.commands[words[0]], words[1:]
    return command, words


def mistakes(text: str) -> list[str]:
    """Return each `mullion ...` of a text whose command or option does not exist."""
    wrong = []
    for call in COMMAND.findall(f" {text}"):
        words = re.sub(r"[\[\]|]", " ", call.partition(" -- ")[0]).split()
        if words[0] in ("sandbox", "request") and words[1:] in ([], ["--help"]):
            continue
        command, rest = find(words)
        options = (
            {name for option in command.params for name in (*option.opts, *option.secondary_opts)} if command else set()
        )
        if command is None or {word for word in rest if re.fullmatch(r"--?[a-z][a-z-]*", word)} - options - {"--help"}:
            wrong.append(call)
    return wrong


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_commands_that_a_page_names_exist(page: Path) -> None:
    begins = ("mullion ", ".venv/bin/mullion ", "$ mullion ")
    assert [call for text in quoted(page) if text.strip().startswith(begins) for call in mistakes(text)] == []


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (pages.ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {target for text in quoted(page) for target in MAKE.findall(text)} <= targets
