"""`mullion chaos`: random changes, faults and interruptions of a temporary copy of a stack in the sandbox, and the
check of invariants after each.

A seed decides every action, but not how far the engine's parallel calls are at an interruption, so it may take several
runs with the same seed to see a violation again.
"""

import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.clouds import CLOUDS
from components.spec.quantities import share_of
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack
from operations.chaos import invariants
from operations.chaos.changes import CHANGES, Change, Document, Draw, older
from operations.chaos.clone import ScratchClone
from operations.chaos.cuts import CUTS, Cut, Done
from operations.chaos.invariants import Asked
from operations.console.exits import Exit, Stop
from operations.engine import locate
from operations.stacks import stack_files
from sandbox import faults

LENGTH = 4
"""Default number of changes between the first `up` and the last `down` of a sequence."""
CALLS_OF_ALL = 60
"""A disturbance of a whole build or removal hits one of the first 60 calls to the cloud."""
LINES = 12
"""Last lines of a run's output in a message."""
ENDINGS = {Exit.OK, Exit.FAILED, Exit.INTERRUPTED, -9}
"""Exit codes that a disturbed run may have; -9: killed."""

Say = Callable[[str], object]


class Violation(Exception):
    """An invariant is broken."""


def _fault(kind: str, amount: float, times: int) -> Cut:
    def disturbed(clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
        with clone.cloud_state() as cloud_state:
            faults.plan(cloud_state, kind, call, amount=amount, times=times)
        done = clone.run(*words)
        with clone.cloud_state() as cloud_state:
            faults.clear(cloud_state)
        return done

    return disturbed


DISTURBANCES: dict[str, Cut] = {
    **CUTS,
    "a call fails": _fault("fail", 0, 1),
    "calls are throttled": _fault("throttle", 5, 3),
    "a call is throttled for good": _fault("throttle", 26, 1),
    "calls are slow": _fault("slow", 0.5, 2),
    "answers are late": _fault("late", 0.5, 2),
    "a profile stays unseen": _fault("unseen", 99, 1),
}


@dataclass(frozen=True)
class Action:
    """A run of the command after a change of the stack file.

    disturbed: a key of DISTURBANCES, applied at the cloud's call number `call`; None: undisturbed.
    """

    words: tuple[str, ...]
    change: Change
    disturbed: str | None
    call: int

    def __str__(self) -> str:
        return f"{self.change.text}; {self.disturbed}, call {self.call}" if self.disturbed else self.change.text


def chaos(stack: str, *, seed: int | None, runs: int, length: int) -> None:
    """Run sequences with consecutive seeds, from `seed` on, and stop at the first violation.

    length: changes between the first `up` and the last `down` of each.
    """
    if not stack_files.load(stack).spec.pools:
        raise Stop(Exit.USAGE, f"stack {stack} has no pool; chaos changes pools, so add one")
    program, config = locate.find(), stack_files.config(stack)
    first = random.SystemRandom().randrange(10**6) if seed is None else seed
    for number in range(first, first + runs):
        print(f"{stack}, seed {number}", flush=True)
        folder = Path(tempfile.mkdtemp(prefix=f"mullion-chaos-{stack}-"))
        try:
            clone = ScratchClone(folder, program, stack)
            sequence(clone, config, number, lambda line: print(f"  {line}", flush=True), length)
        except Violation as found:
            again = f"mullion chaos {stack} --seed {number} --length {length}"
            raise Stop(Exit.FAILED, f"seed {number}, {found}\nkept: {folder}\nagain: {again}") from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder)
    print(f"no violation: {runs} sequences of {stack}, seeds {first} to {first + runs - 1}")


def sequence(clone: ScratchClone, config: Mapping[str, Any], seed: int, say: Say, length: int = LENGTH) -> int:
    """Run one sequence, and return its number of runs. Raises Violation with the action and the broken invariants."""
    runs, now = 0, invariants.snapshot(clone)
    for number, action in enumerate(actions(clone.stack, config, seed, length), 1):
        begun = time.monotonic()
        try:
            codes, wrong = _act(clone, action)
            before, now = now, now if wrong else invariants.snapshot(clone)
            wrong += [] if wrong else invariants.broken(before, now, asked(clone.stack, action.change))
        except subprocess.TimeoutExpired as hung:
            codes, wrong = [], [f"it hangs: {hung}"]
        if wrong:
            raise Violation("\n".join([f"action {number} ({action}):", *(f"  {each}" for each in wrong)]))
        say(f"{number}: {action} -> {', then '.join(map(str, codes))} ({time.monotonic() - begun:.1f} s)")
        runs += len(codes)
    return runs


def actions(stack: str, config: Mapping[str, Any], seed: int, length: int = LENGTH) -> Iterator[Action]:
    """Draw a sequence: build, changes, removal."""
    rng = random.Random(seed)  # noqa: S311 - repeatable on purpose, not for secrets
    begun = _drawn(rng, stack, config, (older,))
    cluster: Document = begun.document
    up, down = ("up", stack, "--sandbox", "--yes"), ("down", stack, "--sandbox", "--yes", "--confirm", stack)
    yield Action(up, begun, *_disturbance(rng, CALLS_OF_ALL, 0.5))
    for _ in range(length):
        change = _drawn(rng, stack, {**config, CLUSTER: cluster}, CHANGES)
        cluster = change.document
        command, *more = change.words
        words = (command, stack, *more, "--sandbox", "--yes")
        yield Action(words, change, *_disturbance(rng, change.calls, 0.75))
    yield Action(down, Change("down", cluster), *_disturbance(rng, CALLS_OF_ALL, 0.5))


def _disturbance(rng: random.Random, calls: int, likely: float) -> tuple[str | None, int]:
    kind, call = rng.choice(list(DISTURBANCES)), rng.randint(1, calls)
    return (kind if rng.random() < likely else None), call


def _drawn(rng: random.Random, stack: str, config: Mapping[str, Any], kinds: Sequence[Draw]) -> Change:
    """Draw a change of one of these kinds whose spec has no errors."""
    region = config[CLOUDS[config[CLUSTER]["cloud"]].region_key]
    while True:
        change = rng.choice(kinds)(rng, config[CLUSTER], region)
        if change is None:
            continue
        try:
            read_stack(stack, {**config, CLUSTER: change.document})
        except SpecError:
            continue
        return change


def _act(clone: ScratchClone, action: Action) -> tuple[list[int], list[str]]:
    """Run an action, and once more undisturbed if it failed. Return exit codes, and lines about wrong ones."""
    if not action.change.scales:
        clone.write(action.change.document)
    again = ("up", *action.words[1:2], "--sandbox", "--yes") if action.change.scales else action.words
    runs = [DISTURBANCES[action.disturbed](clone, action.words, action.call)] if action.disturbed else []
    if not runs or runs[0].returncode:
        clone.write(action.change.document)  # a scaling that did not begin has restored the old count
        runs.append(clone.run(*again if runs else action.words))
    codes = [each.returncode for each in runs]
    wrong = [f"exit code {each.returncode}: {_end(each)}" for each in runs[:-1] if each.returncode not in ENDINGS]
    wrong += [f"exit code {codes[-1]}: {_end(runs[-1])}"] if codes[-1] else []
    wrong += [f"a traceback: {_end(each)}" for each in runs if "Traceback" in each.stdout + each.stderr]
    return codes, wrong


def _end(run: Done) -> str:
    return "\n".join(["", *run.stderr.splitlines()[-LINES:]])


def asked(stack: str, change: Change) -> Asked:
    """Return the allowed effects of a change, with the names of resources."""
    replaced = None if change.replaced is None else tuple(f"{stack}-{each}" for each in change.replaced)
    cluster = change.document
    return Asked(change.renewed, limits(stack, cluster), cluster["kubernetes"], replaced)


def limits(stack: str, cluster: Document) -> dict[str, int]:
    """Return how many machines of each pool may be missing, by the prefix of their names."""
    return {
        f"{stack}-{name}": share_of(pool.get("rollout", {}).get("max_unavailable", 1), pool.get("count", 1))
        for name, pool in cluster["pools"].items()
    }
