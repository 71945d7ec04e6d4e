"""`mullion chaos` on the real engine: every invariant holds after every action."""

import shutil
from collections.abc import Callable

import pytest

from operations.chaos import run
from operations.engine.locate import Engine
from tests.seed import GIVEN, SEED

from . import sampling, variants
from .clone import Clone

pytestmark = pytest.mark.engine

FIRST, SEQUENCES = int(GIVEN or 1), 300
"""First seed of `make soak`, and number of seeds; the same in every worker, because tests are named by them."""
KINDS = (*("ci",) * 3, "dev", *variants.KINDS, "prod")
"""Stacks of the sequences, in turn; mostly the smallest, because each sequence takes more than a minute."""
SHORT = 2
"""Number of changes in the only sequence of `make test`."""
STACKS = tuple(f"{cloud}-{kind}" for kind in KINDS for cloud in sampling.CLOUDS)


def held(stack: str, seed: int, length: int, folders: pytest.TempPathFactory, engine: Engine) -> int:
    command = "mullion chaos" if variants.has_file(stack) else "chaos of"
    print(f"{command} {stack} --seed {seed} --length {length}")  # noqa: T201 - pytest shows it where the test fails
    clone = Clone(folders.mktemp("chaos"), engine, stack)
    runs = run.sequence(clone, variants.config(stack), seed, print, length)
    shutil.rmtree(clone.folder)
    return runs


def test_invariants_hold_through_a_sequence_of_changes_faults_and_interruptions(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    held(sampling.drawn(sampling.SAMPLED, sampling.FOR_CI, "chaos"), SEED, SHORT, tmp_path_factory, engine)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("stack", "seed"), [(STACKS[number % len(STACKS)], FIRST + number) for number in range(SEQUENCES)]
)
def test_invariants_hold_through_every_sequence(
    stack: str,
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
    engine: Engine,
    record_property: Callable[[str, int], None],
) -> None:
    record_property("runs of chaos", held(stack, seed, run.LENGTH, tmp_path_factory, engine))
