"""Interrupted runs: the next `up` creates nothing twice, orphans nothing and changes no secret."""

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from operations.chaos import invariants, run
from operations.chaos.cuts import CUTS
from operations.chaos.invariants import Asked
from operations.engine.locate import Engine
from sandbox.records import Operation
from tests.seed import SEED

from . import sampling, variants
from .clone import Clone

pytestmark = pytest.mark.engine

CALLS = {"aws": 50, "gcp": 50, "azure": 40}
"""Calls of the cloud that build the stack for CI in a network of the user, where they are fewest; rounded down."""


SAMPLED = ("provider dies after", "engine killed before", "all killed before", "all killed after")
"""Interruptions; `make test` draws two, `make soak` tries each with every call."""
DRAWN = sampling.two(SAMPLED)


@pytest.mark.parametrize(
    ("parameter", "cut"),
    [
        *((sampling.SAMPLED, each) for each in DRAWN),
        *(pytest.param(stack, cut, marks=pytest.mark.soak) for stack in sampling.FOR_CI for cut in SAMPLED),
    ],
    ids=lambda each: each.replace(" ", "-"),
)
def test_up_after_an_interruption_creates_only_what_is_missing(
    tmp_path: Path, engine: Engine, parameter: str, cut: str
) -> None:
    cut = DRAWN.get(cut, cut)
    clone = Clone(tmp_path, engine, sampling.drawn(parameter, sampling.FOR_CI, cut))
    call = random.Random(f"{SEED} {cut}").randint(2, CALLS[clone.cloud.name])
    print(f"call {call}")  # noqa: T201 - pytest shows it where the test fails
    done = CUTS[cut](clone, ("up", clone.stack, "--sandbox"), call)
    assert done.returncode != 0
    before = invariants.snapshot(clone)
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert "Traceback" not in done.stderr + up.stdout + up.stderr
    asked = Asked(kubernetes=clone.document()["kubernetes"])
    assert list(invariants.broken(before, invariants.snapshot(clone), asked)) == [], up.stderr
    assert made_twice(invariants.snapshot(clone).calls) == {}
    again = clone.up()
    assert again.stdout.startswith("no changes"), again.stdout


def made_twice(calls: Iterable[Operation]) -> dict[str, int]:
    """Return what was created more than once without a deletion in between."""
    there: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for call in calls:
        if not call.error and call.kind != "update":
            there[call.urn] += 1 if call.kind == "create" else -1
            most[call.urn] = max(most[call.urn], there[call.urn])
    return {urn: count for urn, count in most.items() if count > 1}


# Soak: interrupt every call of every stack, before and after the cloud acted. Each run delays all calls from its first
# on, so it gets no further than the calls that can be in progress together, and the next run begins with recovery.
# Recovery adds created resources to the state; a change is repeated, and let through once it is the only call.

MOST = 300
"""Number of runs after which a sweep counts as endless: several times the need of the largest stack."""

PAIRS = ("provider dies", "engine killed", "all killed")
"""Kinds of interruption, each before and after the call."""
OTHERS = {
    "dev": "provider dies",
    "prod": "engine killed",
    "docker": "all killed",
    **dict(zip(variants.KINDS, itertools.cycle(PAIRS), strict=False)),
}
"""All kinds on every cloud's CI stack, one kind on the others: it takes hours already."""
SWEEPS = [
    (stack, pair)
    for stack in (*sampling.STACKS, *sampling.VARIANTS)
    for pair in PAIRS
    if pair == OTHERS.get(stack.partition("-")[2], pair)
]


def reserve(clone: Clone) -> tuple[str, ...]:
    """Roll every pool."""
    cluster = clone.document()
    for pool in cluster["pools"].values():
        pool.setdefault("kubelet", {}).setdefault("system_reserved", {})["memory"] = "2304Mi"
    clone.write(cluster)
    return ("up", clone.stack, "--sandbox")


def scale(clone: Clone) -> tuple[str, ...]:
    """Add two machines to every pool."""
    cluster = clone.document()
    for pool in cluster["pools"].values():
        pool["count"] += 2
    clone.write(cluster)
    return ("up", clone.stack, "--sandbox")


PHASES: dict[str, Callable[[Clone], tuple[str, ...]]] = {
    "up": lambda clone: ("up", clone.stack, "--sandbox"),
    "roll": reserve,
    "scale": scale,
    "down": lambda clone: ("down", clone.stack, "--sandbox", "--confirm", clone.stack),
}
"""Runs to interrupt, by name; all but `up` begin with a built cluster."""


@pytest.fixture(scope="module")
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster, and a copy of it as just built."""
    clone = Clone(tmp_path_factory.mktemp("clone"), engine, request.param)
    assert clone.up().returncode == 0
    shutil.copytree(clone.folder / ".mullion", clone.folder / "built")
    return clone


def restored(clone: Clone, *, built: bool) -> None:
    clone.fresh()
    if built:
        shutil.rmtree(clone.folder / ".mullion")
        shutil.copytree(clone.folder / "built", clone.folder / ".mullion")


@pytest.mark.soak
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("prepared", "pair"), SWEEPS, indirect=["prepared"], ids=lambda each: each.replace(" ", "-"))
def test_every_call_can_be_interrupted_before_and_after_the_cloud_acted(
    prepared: Clone, pair: str, phase: str, record_property: Callable[[str, int], None]
) -> None:
    restored(prepared, built=phase != "up")
    words = PHASES[phase](prepared)
    cluster = prepared.document()
    before = invariants.snapshot(prepared)
    pending: set[str] = set()
    known: set[tuple[str, str]] = set()
    runs, first = 0, 1
    for cut in cuts(f"{pair} before", f"{pair} after"):
        seen = len(calls(prepared))
        done = CUTS[cut](prepared, words, first)
        assert "Traceback" not in done.stdout + done.stderr
        runs += 1
        assert runs < MOST, f"no end: {calls(prepared)[-5:]}"
        if done.returncode == 0:
            break
        state = prepared.state()
        pending |= {each["resource"]["urn"] for each in state.get("pending_operations") or []}
        made = calls(prepared)[seen:] if cut.endswith("after") else []
        first = 1 + len(made) if known.issuperset(made) else 1
        known.update(made)
    after = invariants.snapshot(prepared)
    asked = Asked(limits=run.limits(prepared.stack, cluster), kubernetes=cluster["kubernetes"])
    assert list(invariants.broken(before, after, asked)) == []
    assert phase != "up" or made_twice(after.calls) == {}, "later some things are made anew before the older one goes"
    cut_off = {each.urn for each in after.calls[len(before.calls) :] if not each.error}
    record_property("runs cut off", runs - 1)
    record_property("calls cut off before and after the cloud acted", len(cut_off))
    if pair != "provider dies":  # the engine records nothing after it
        assert cut_off <= pending, "each was under way when its run was cut off"


def calls(clone: Clone) -> list[tuple[str, str]]:
    """Return kind and URN of every call that the cloud executed, in order."""
    with clone.cloud_state() as cloud_state:
        return [(each.kind, each.urn) for each in cloud_state.operations() if not each.error]


def cuts(before: str, after: str) -> Iterator[str]:
    """Alternate before and after without end; a run that has nothing left to do ends well."""
    while True:
        yield before
        yield after
