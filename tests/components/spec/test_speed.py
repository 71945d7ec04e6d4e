"""Reading a stack is what every command waits for first."""

import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest

ROOT = Path(__file__).parents[3]
MOST = 2.0
"""Times a process that only imports pydantic and YAML. Both whole processes; 0.22 s against 0.15 s when idle."""

BARE = "import yaml; from pydantic import BaseModel; type('Model', (BaseModel,), {})"

CODE = """
from pathlib import Path
from components.spec.stack import read_stack, stack_file_config
read_stack("aws-dev", stack_file_config(Path("stacks/Pulumi.aws-dev.yaml")))
"""


@pytest.mark.bench
def test_reading_a_stack_is_fast() -> None:
    pairs = [(_seconds(CODE), _seconds(BARE)) for _ in range(5)]
    ours, bare = (min(times) for times in zip(*pairs, strict=True))
    assert ours < MOST * bare, f"{ours:.2f} s against {bare:.2f} s"


def _seconds(code: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return perf_counter() - start
