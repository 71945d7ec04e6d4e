"""Measuring for `make bench`: the shortest of several runs, and one printed line for each comparison."""

import gc
import time
from collections.abc import Callable
from typing import Any


def best(runs: int, *kinds: Callable[[], Any]) -> list[float]:
    """Return the shortest time of each kind, in seconds. Kinds take turns, so a busy machine slows all of them."""
    shortest = [float("inf")] * len(kinds)
    for _ in range(runs):
        for index, kind in enumerate(kinds):
            gc.collect()
            began = time.perf_counter()
            kind()
            shortest[index] = min(shortest[index], time.perf_counter() - began)
    return shortest


def show(what: str, ours: float, other: float, goal: float | None, note: str = "") -> None:
    """Print one line: seconds, ratio, goal."""
    aim = f"goal {goal:.2f}" if goal else ""
    print(f"{what:<44} {ours:8.3f} s {other:8.3f} s   ratio {ours / other:5.2f}  {aim:<10} {note}", flush=True)
