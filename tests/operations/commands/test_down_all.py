"""`mullion down --all`: which stacks it removes, what it asks, and how it ends."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.commands import up_and_down
from operations.console.exits import Exit, Stop
from operations.stacks import account, target
from operations.stacks.target import Target

Run = Callable[..., Result]


@pytest.fixture
def removed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two stacks in the sandbox and one in an account; the names that `down` is called with, `bad` fails."""
    for name, place in (("small", Target("sandbox")), ("bad", Target("sandbox")), ("real", Target("aws"))):
        target.remember(name, place)
    names: list[str] = []

    def down(name: str, *, sandbox: bool, yes: bool, confirmed: str | None) -> None:
        names.append(f"{name}{' yes' if yes else ''}")
        if name == "bad":
            raise Stop(Exit.FAILED, "it broke")

    monkeypatch.setattr(up_and_down, "down", down)
    return names


def test_down_all_removes_every_stack_of_the_sandbox_and_names_those_that_are_left(
    removed: list[str], mullion: Run
) -> None:
    result = mullion("down", "--all", "--sandbox", "--yes")
    assert removed == ["bad yes", "small yes"]
    assert result.exit_code == Exit.FAILED
    assert "Stacks built in the sandbox: bad, small" in result.stdout
    assert result.stderr.endswith("mullion: not removed: bad\n")


@pytest.mark.parametrize(
    ("built_in", "words", "says"),
    [
        (Target("sandbox"), (), "Built in the sandbox: other. To remove them: mullion down --all --sandbox"),
        (Target("aws"), ("--sandbox",), "Built in real accounts: other. To remove them: mullion down --all\n"),
    ],
)
def test_down_all_names_the_stacks_that_are_built_elsewhere(
    built_in: Target, words: tuple[str, ...], says: str, clone: Path, mullion: Run
) -> None:
    target.remember("other", built_in)
    result = mullion("down", "--all", *words)
    assert result.exit_code == 0
    assert says in result.stdout


def test_down_all_asks_once_for_the_sandbox(removed: list[str], mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []
    monkeypatch.setattr(account, "confirm", lambda question, *_: questions.append(question))
    mullion("down", "--all", "--sandbox")
    assert questions == ["This removes 2 stacks from the sandbox."]
    assert removed == ["bad", "small"]


def test_down_all_removes_nothing_without_an_answer(removed: list[str], mullion: Run) -> None:
    result = mullion("down", "--all", "--sandbox")
    assert result.exit_code == Exit.REFUSED
    assert not removed


def test_down_all_leaves_the_question_about_each_real_account_to_down(removed: list[str], mullion: Run) -> None:
    assert mullion("down", "--all").exit_code == 0
    assert removed == ["real"], "without --yes, so that `down` asks"


def test_down_all_says_so_when_nothing_is_built(clone: Path, mullion: Run) -> None:
    assert mullion("down", "--all").stdout == "no stack of this clone is built in a real account\n"


@pytest.mark.parametrize("words", [(), ("small", "--all"), ("--all", "--confirm", "small")])
def test_down_takes_a_stack_or_all(words: tuple[str, ...], clone: Path, mullion: Run) -> None:
    assert mullion("down", *words).exit_code == Exit.USAGE
