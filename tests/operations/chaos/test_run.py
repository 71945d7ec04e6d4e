"""`mullion chaos` without an engine: drawn actions, and the message about a violation."""

import shutil
from collections.abc import Callable
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import pytest
from typer.testing import Result

from components.releases.skew import refusal
from components.stack_files.stack import CLUSTER, read_stack
from operations.chaos import run
from operations.chaos.changes import CHANGES, Change
from operations.console.exits import Exit
from operations.engine import locate
from operations.stacks import stack_files

SEEDS = range(30)
STACKS = ("aws-ci", "aws-dev", "aws-prod", "azure-ci", "gcp-ci", "gcp-prod")


@cache
def sequences(stack: str) -> list[list[run.Action]]:
    """Return the actions that the seeds draw for a stack."""
    return [list(run.actions(stack, stack_files.config(stack), seed)) for seed in SEEDS]


@pytest.mark.parametrize("stack", STACKS)
def test_a_seed_always_draws_the_same_actions_and_another_seed_others(stack: str) -> None:
    config = stack_files.config(stack)
    drawn = [list(run.actions(stack, config, seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert stack_files.config(stack) == config, "the stack itself stays as it is"


@pytest.mark.parametrize("stack", STACKS)
def test_a_sequence_builds_changes_and_removes_and_each_spec_in_it_is_good(stack: str) -> None:
    config = stack_files.config(stack)
    for build, *changes, removal in sequences(stack):
        assert (build.words[0], removal.words[0], len(changes)) == ("up", "down", run.LENGTH)
        for each in changes:
            read_stack(stack, {**config, CLUSTER: each.change.document})
            assert each.words == (each.change.words[0], stack, *each.change.words[1:], "--sandbox", "--yes")


@pytest.mark.parametrize("stack", STACKS)
def test_each_new_version_is_one_hop_from_the_one_before(stack: str) -> None:
    for sequence in sequences(stack):
        drawn = [each.change.document["kubernetes"] for each in sequence]
        assert [refusal([before], after) for before, after in pairwise(drawn)] == [""] * (len(drawn) - 1)


def test_allowed_effects_have_the_names_of_resources() -> None:
    cluster = stack_files.config("aws-dev")[CLUSTER]
    asked = run.asked("aws-dev", Change("roll", cluster, replaced=("web", "linux-0")))
    assert (asked.replaced, asked.kubernetes) == (("aws-dev-web", "aws-dev-linux-0"), cluster["kubernetes"])
    assert asked.limits == {"aws-dev-linux": 1, "aws-dev-web": 1}
    assert run.asked("aws-dev", Change("image", cluster, replaced=None)).replaced is None


def test_all_changes_and_disturbances_are_drawn() -> None:
    drawn = list(chain.from_iterable(sequences("aws-dev")))
    assert {each.disturbed for each in drawn} == {None, *run.DISTURBANCES}
    first_words = {each.change.text.split()[0] for each in drawn}
    kinds = {"nothing", "scale", "label", "taint", "reserve", "size", "max_unavailable", "rotation", "image"}
    kinds |= {"roll", "patch", "minor"}
    assert first_words == kinds | {"up", "down"}
    assert len(set(CHANGES)) == len(kinds)
    assert {each.words[0] for each in drawn} == {"up", "scale", "roll", "down"}


def test_a_violation_is_reported_with_seed_and_action_and_its_folder_kept(
    mullion: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sequence(replica: object, config: object, seed: int, say: Callable[[str], object], length: int) -> None:
        say(f"1: up -> {length}")
        if seed == 8:
            raise run.Violation("action 2 (label web): \n  in the sandbox alone: vpc-1")

    kept: list[Path] = []
    monkeypatch.setattr(run, "sequence", sequence)
    monkeypatch.setattr(run, "ScratchClone", lambda folder, *_: kept.append(folder))
    monkeypatch.setattr(locate, "find", lambda: None)
    result = mullion("chaos", "aws-dev", "--seed", "7", "--runs", "3", "--length", "2")
    assert result.exit_code == Exit.FAILED
    assert result.stdout == "aws-dev, seed 7\n  1: up -> 2\naws-dev, seed 8\n  1: up -> 2\n"
    again = "mullion chaos aws-dev --seed 8 --length 2"
    for words in ("seed 8, action 2", "in the sandbox alone: vpc-1", again, str(kept[1])):
        assert words in result.stderr, words
    assert [each.exists() for each in kept] == [False, True]
    shutil.rmtree(kept[1])


def test_sequences_that_hold_end_well(mullion: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "sequence", lambda *_: None)
    monkeypatch.setattr(run, "ScratchClone", lambda *_: None)
    monkeypatch.setattr(locate, "find", lambda: None)
    result = mullion("chaos", "aws-dev", "--seed", "7", "--runs", "2")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (
        0,
        "no violation: 2 sequences of aws-dev, seeds 7 to 8",
    )


def test_a_seed_is_drawn_and_shown_if_none_is_given(
    mullion: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "sequence", lambda *_: None)
    monkeypatch.setattr(run, "ScratchClone", lambda *_: None)
    monkeypatch.setattr(locate, "find", lambda: None)
    shown = mullion("chaos", "aws-dev").stdout.splitlines()[0]
    assert shown.removeprefix("aws-dev, seed ").isdecimal()


def test_a_stack_without_pools_is_refused(
    clone: Path, mullion: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "find", lambda: pytest.fail("an engine was looked for"))
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text().partition("    pools:")[0])
    result = mullion("chaos", "small")
    assert result.exit_code == Exit.USAGE
    assert "small has no pool" in result.stderr
