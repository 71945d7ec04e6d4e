"""Progress of an engine run: one live line on a terminal, otherwise one plain line for each resource."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.console.heartbeat import Heartbeat
from operations.engine.events import DONE, Step, Tally

Watch = Callable[[auto.EngineEvent], None]
Estimate = Callable[[Step], float]
"""Returns the seconds that a step takes in a real account."""
STASH = "pulumi:index:Stash"
"""Type of a value that the program keeps only in the state."""
LATE_SECONDS = 180.0
"""EC2 creates a machine in less. The provider retries InsufficientInstanceCapacity without a word until it gives up
(terraform-provider-aws issues 43193 and 49863); a gate of a replaced worker takes long, too."""
BEAT_SECONDS = 1.0
"""Seconds between two checks whether a line about the wait is due."""


@contextmanager
def shown(tally: Tally, estimate: Estimate | None = None) -> Iterator[Watch]:
    """Yield a function that takes the engine's events. The engine calls it from its threads, one event at a time."""
    with (_live if sys.stdout.isatty() else _plain)(tally, estimate) as watch:
        yield watch


@contextmanager
def _plain(tally: Tally, estimate: Estimate | None) -> Iterator[Watch]:
    heart, ended = Heartbeat(), threading.Event()

    def watch(event: auto.EngineEvent) -> None:
        step = tally.hear(event)
        if step:
            print(line(tally, step, estimate), flush=True)
            heart.reset()

    def beat() -> None:
        while not ended.wait(BEAT_SECONDS):
            heart.beat(waiting(tally, estimate).removeprefix("waiting for ") or "the engine")

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield watch
    finally:
        ended.set()
        beating.join()


def line(tally: Tally, step: Step, estimate: Estimate | None) -> str:
    """Return the line for a finished step."""
    seconds = estimate(step) if estimate else 0
    real = f"  (about {duration(seconds)} on the real cloud)" if seconds >= 10 else ""
    kind = "in the Pulumi state only" if step.type == STASH else step.type
    return f"[{tally.count}] {DONE[step.op]} {step.name} ({kind}){real}"


@contextmanager
def _live(tally: Tally, estimate: Estimate | None) -> Iterator[Watch]:
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # on a narrow terminal the text is cut and the numbers stay
    fixed = [kind(table_column=Column(no_wrap=True)) for kind in (SpinnerColumn, MofNCompleteColumn, TimeElapsedColumn)]
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    text = TextColumn("{task.description}", table_column=rest, markup=False)
    with Progress(*fixed, text, transient=True, expand=True) as bar:
        task = bar.add_task("", total=tally.total or None)

        def watch(event: auto.EngineEvent) -> None:
            tally.hear(event)
            bar.update(task, completed=len(tally.seen), description=waiting(tally, estimate))

        yield watch


def waiting(tally: Tally, estimate: Estimate | None) -> str:
    """Return a text about the steps in progress, slowest first if estimates are known; empty if there are none."""
    steps = sorted(tally.awaited.values(), key=lambda step: -(estimate(step) if estimate else 0))
    if not steps:
        return ""
    rest = f" and {len(steps) - 2} more" if len(steps) > 2 else ""
    slowest = estimate(steps[0]) if estimate else 0
    real = f" (about {duration(slowest)} on the real cloud)" if slowest >= 10 else ""
    return f"waiting for {', '.join(step.name for step in steps[:2])}{rest}{real}{_capacity(tally)}"


def _capacity(tally: Tally) -> str:
    """Return a text about a machine on AWS whose creation takes long; empty if there is none."""
    now = time.monotonic()
    for urn, step in tally.awaited.items():
        late = step.op.startswith("create") and now - tally.begun[urn] > LATE_SECONDS
        if late and step.type == cloud_tables.AWS.machine:
            return f"; if EC2 has no capacity for {step.name}, its creation is retried for up to 50 min (docs/aws.md)"
    return ""


def duration(seconds: float) -> str:
    """Return seconds in words: 45 s, 2 min 5 s, 1 h 3 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock() -> Callable[[], str]:
    """Start a clock, and return a function that returns the time since then."""
    begun = time.monotonic()
    return lambda: f"{time.monotonic() - begun:.1f} s"
