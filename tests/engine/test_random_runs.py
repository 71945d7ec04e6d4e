"""Random runs of `mullion run` with reapers between them: nothing is left but what was kept on purpose."""

import random
import shutil

import pytest

from operations.engine.locate import Engine
from tests.seed import GIVEN, SEED

from .clone import Clone
from .random_runs import RandomRuns

pytestmark = pytest.mark.engine

FIRST, SEQUENCES, RUNS = int(GIVEN or 1), 20, 10
"""First seed of `make soak`, number of seeds, and runs of each: 200 in all."""
SHORT = 2
"""Number of runs in the only sequence of `make test`."""


def held(seed: int, length: int, folders: pytest.TempPathFactory, engine: Engine) -> None:
    """Do a sequence of runs in a clone of its own, and print each run: pytest shows the output if the test fails."""
    clone = Clone(folders.mktemp("runs"), engine)
    shutil.rmtree(clone.folder / ".mullion")
    print(f"MULLION_SEED={seed}")  # noqa: T201
    RandomRuns(clone, random.Random(seed), lambda line: print(line, flush=True)).sequence(length)  # noqa: T201
    shutil.rmtree(clone.folder)


def test_random_runs_leave_nothing(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> None:
    held(SEED, SHORT, tmp_path_factory, engine)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEQUENCES))
def test_every_sequence_of_random_runs_leaves_nothing(
    seed: int, tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    held(seed, RUNS, tmp_path_factory, engine)
