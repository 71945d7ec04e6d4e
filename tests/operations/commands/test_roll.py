"""What `mullion roll` remembers of a roll that was cut off, without an engine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.clouds import cloud_tables
from operations.commands import up_and_down
from operations.console.exits import Exit
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
    """Where it is remembered."""
    path = target.folder("small") / "rolls.json"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine was told to replace."""
    told: list[str] = []
    monkeypatch.setattr(up_and_down, "up", lambda *_, replaced, **__: told.extend(replaced(STATE)))
    return told


def test_a_roll_that_was_cut_off_goes_on_with_what_is_still_the_old_one(
    file: Path, replaced: list[str], mullion: Mullion
) -> None:
    file.write_text(json.dumps({"web": {"urn::small-web-0": "i-older", "urn::small-web-1": "i-old"}}))
    ended = mullion(*WORDS)
    assert (ended.exit_code, replaced, file.exists()) == (0, ["urn::small-web-1"], False)
    assert "going on with the roll of web: 1 of 2 left" in ended.stderr


@pytest.mark.parametrize("content", ["", "{", "[]", '{"web": 1}', "null"])
def test_a_damaged_memory_is_said_and_nothing_is_rolled(
    content: str, file: Path, replaced: list[str], mullion: Mullion
) -> None:
    file.write_text(content)
    ended = mullion(*WORDS)
    assert (ended.exit_code, replaced) == (Exit.REFUSED, [])
    assert f"{file} cannot be read" in ended.stderr
    assert "Remove the file" in ended.stderr
