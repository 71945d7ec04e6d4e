"""`mullion chaos` on the engine: whatever it does to a cluster, everything holds."""

import shutil
from collections.abc import Callable

import pytest

from operations.chaos import run
from operations.engine.locate import Engine
from operations.stacks import stack_files
from tests.seed import GIVEN, SEED

from . import sampling
from .clone import Clone

pytestmark = pytest.mark.engine

FIRST, SEQUENCES = int(GIVEN or 1), 300
"""Of soak: the first seed, and how many. The same in every worker, because the tests are named by it."""
KINDS = (*("ci",) * 4, "dev", *("ci",) * 4, "prod")
"""In turn; mostly the smallest, since most sequences are had for the time there: each takes more than a minute."""
SHORT = 2
"""Changes in the one sequence of `make test`."""
STACKS = tuple(f"{cloud}-{kind}" for kind in KINDS for cloud in sampling.CLOUDS)


def held(stack: str, seed: int, length: int, folders: pytest.TempPathFactory, engine: Engine) -> int:
    print(f"mullion chaos {stack} --seed {seed} --length {length}")  # noqa: T201 - pytest shows it where the test fails
    clone = Clone(folders.mktemp("chaos"), engine, stack)
    runs = run.sequence(clone, stack_files.config(stack), seed, print, length)
    shutil.rmtree(clone.folder)
    return runs


def test_a_sequence_of_changes_faults_and_cuts_holds(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> None:
    held(sampling.stack("sampled-ci", "chaos"), SEED, SHORT, tmp_path_factory, engine)


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
    record_property("runs of chaos", held(stack, seed, run.LENGTH, tmp_path_factory, engine))
