"""Speed, as ratios measured in one run: `make bench`. It prints goals next to the figures, and never fails.

The second run of node.ps1 is measured by tests/windows_plans/bench.py, with the Windows machines of the tests.
"""

import gc
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from components.sdk.garbage import THRESHOLDS, collect_rarely
from operations.recorder.recorder import record
from operations.stacks.paths import REPOSITORY
from tools.bench import executor
from tools.bench.flat import flat
from tools.bench.measure import best, show
from tools.bench.state_cost import CONFIG, STACK, sandbox_stack, sized

SIZES = {10: (7, 1.25), 100: (3, None), 1000: (2, 1.15)}
"""Workers -> number of runs, of which the fastest counts, and goal of the ratio."""
PROCESS_RUNS = 20
LIBRARIES = "import typer, yaml; from pydantic import BaseModel; type('Model', (BaseModel,), {})"
"""Program that imports the libraries of `mullion plan`, pydantic with what its first model loads."""
COLLECTOR = gc.get_threshold()
"""Python's default thresholds of its garbage collector."""


def process() -> None:
    """Measure `mullion plan` and `mullion --help` as whole processes, against Python alone and with the libraries.

    Python keeps bytecode, as on a user's machine: without it, every run compiles all modules again, a quarter of its
    time.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(*words: str) -> None:
        words = (sys.executable, *words)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=REPOSITORY, env=environment)

    plan, shown, libraries, bare = best(
        PROCESS_RUNS,
        partial(run, "-m", "operations", "plan", STACK),
        partial(run, "-m", "operations", "--help"),
        partial(run, "-c", LIBRARIES),
        partial(run, "-c", "pass"),
    )
    show(f"plan {STACK}, whole process / python -c pass", plan, bare, None, "goal 0.35 s")
    show(f"plan {STACK}, whole process / its libraries", plan, libraries, None, "typer, pydantic and yaml alone")
    show("--help, whole process / python -c pass", shown, bare, None, "goal 0.25 s")


def wiring() -> None:
    """Measure `plan --resources` against a flat program of the same resources, on the same recording monitor."""
    per_worker: list[float] = []
    for workers, (runs, goal) in SIZES.items():
        config = sized(workers)
        same_resources(config, workers)
        ours, other = best(
            runs,
            lambda c=config: record(STACK, c),
            lambda c=config, n=workers: record(STACK, c, program=lambda: flat(n)),
        )
        show(f"wiring, {workers} workers / flat program", ours, other, goal)
        per_worker.append(ours)
    first, last = (per_worker[1] - per_worker[0]) / 90, (per_worker[2] - per_worker[1]) / 900
    show("a worker between 100 and 1000 / 10 and 100", last, first, None, "linear: 1.00")


def collector() -> None:
    """Measure rare garbage collection: the flat program with our thresholds, against Python's defaults."""
    config = sized(1000)

    def run(thresholds: tuple[int, int, int]) -> None:
        gc.set_threshold(*thresholds)
        record(STACK, config, program=lambda: flat(1000))
        collect_rarely()

    ours, other = best(2, partial(run, THRESHOLDS), partial(run, COLLECTOR))
    show("flat, 1000 workers, our collector / Python's", ours, other, None)


def same_resources(config: dict[str, Any], workers: int) -> None:
    """Exit unless both programs register the same number of resources of each type."""
    ours = Counter(key.type for key, each in record(STACK, config).resources.items() if each.custom)
    other = Counter(key.type for key in record(STACK, config, program=lambda: flat(workers)).resources)
    if ours != other:
        raise SystemExit(f"the flat program differs: ours has {dict(ours - other)}, it has {dict(other - ours)}")


def engine() -> None:
    """Measure `up` in the sandbox with the real engine, against the same resources without components."""
    from operations.recorder.recorder import program

    def up(what: Callable[[], Any]) -> None:
        with sandbox_stack(CONFIG, what) as (stack, _):
            stack.up()

    ours, other = best(3, lambda: up(program), lambda: up(lambda: flat(1)))
    show(f"engine up {STACK} in the sandbox / flat program", ours, other, 1.15)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    collect_rarely()  # for both programs, so the ratio compares only the programs
    print(f"{'':<44} {'ours':>10} {'other':>10}")
    process()
    wiring()
    collector()
    engine()
    executor.user_data_sizes()
    executor.linux(show)
