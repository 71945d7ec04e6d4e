"""Tests of `make bench`, and of the work that each worker adds to a run of the program."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from pulumi import Output

from operations.recorder.recorder import program, record
from tools.bench.__main__ import STACK, same_resources, sized
from tools.bench.flat import flat
from tools.bench.state_cost import cost


def test_the_flat_program_registers_the_same_resources_as_the_component():
    same_resources(sized(1), 1)


def test_a_worker_adds_hardly_more_outputs_than_in_the_flat_program(monkeypatch: pytest.MonkeyPatch):
    calls, from_input = [0], Output.from_input

    def counted(value: object) -> Output[object]:
        calls[0] += 1
        return from_input(value)

    def added_by_ten_workers(programs: Mapping[int, Callable[[], Any]]) -> int:
        counts: list[int] = []
        for workers, run in programs.items():
            before = calls[0]
            record(STACK, sized(workers), program=run)
            counts.append(calls[0] - before)
        return counts[1] - counts[0]

    monkeypatch.setattr(Output, "from_input", staticmethod(counted))
    of_flat = added_by_ten_workers({workers: partial(flat, workers) for workers in (2, 12)})
    assert added_by_ten_workers({2: program, 12: program}) < 1.5 * of_flat


@pytest.mark.subprocess
def test_the_cost_of_a_command_has_the_cpu_time_of_this_process_and_of_those_it_started() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"

    def command() -> None:
        subprocess.run([sys.executable, "-c", busy], check=True)
        began = time.process_time()
        while time.process_time() - began < 0.1:
            pass

    spent = cost(command)
    assert spent.engine >= 0.3
    assert 0.1 <= spent.program < spent.engine
    assert spent.seconds >= spent.program
    assert spent.megabytes > 5
