"""`mullion chaos` on the engine: whatever it does to a cluster, everything holds."""

import os
import random
import shutil
from collections.abc import Callable

import pytest

from operations import chaos, stacks
from operations.engine import Engine

from .clone import Clone

pytestmark = pytest.mark.engine

GIVEN = os.environ.get("MULLION_SEED")
SEED = int(GIVEN or random.SystemRandom().randrange(10**6))
"""Of the sampled sequence. A test that fails prints it, for `mullion chaos aws-ci --seed`."""
FIRST, SEQUENCES = int(GIVEN or 1), 300
"""Of soak: the first seed, and how many. The same in every worker, because the tests are named by it."""
STACKS = (*("aws-ci",) * 4, "aws-dev", *("aws-ci",) * 4, "aws-prod")
"""In turn; mostly the smallest, since most sequences are had for the time there: each takes more than a minute."""


def held(stack: str, seed: int, folders: pytest.TempPathFactory, engine: Engine) -> int:
    print(f"mullion chaos {stack} --seed {seed}")  # noqa: T201 - pytest shows it where the test fails
    clone = Clone(folders.mktemp("chaos"), engine, stack)
    runs = chaos.sequence(clone, stacks.config(stack), seed, print)
    shutil.rmtree(clone.folder)
    return runs


def test_a_sequence_of_changes_faults_and_cuts_holds(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> None:
    held("aws-ci", SEED, tmp_path_factory, engine)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("stack", "seed"), [(STACKS[number % len(STACKS)], FIRST + number) for number in range(SEQUENCES)]
)
def test_every_sequence_holds(
    stack: str,
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
    engine: Engine,
    record_property: Callable[[str, int], None],
) -> None:
    record_property("runs of chaos", held(stack, seed, tmp_path_factory, engine))
