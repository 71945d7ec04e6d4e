"""Runs cut off in the middle: the next `up` makes nothing twice, orphans nothing, and changes no secret."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable

import pytest

from operations.engine import Engine

from .clone import Clone

pytestmark = pytest.mark.engine

SEED = int(os.environ.get("MULLION_SEED") or random.SystemRandom().randrange(10**6))
"""Chooses the calls at which a run is cut. A test that fails prints it, and the variable repeats it."""
CALLS = 60
"""The cloud gets a few calls more than that to build aws-ci."""
PATIENCE = 60
"""Seconds after which a run that should have come somewhere is given up."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    return Clone(tmp_path_factory.mktemp("clone"), engine)


def until(true: Callable[[], object], run: subprocess.Popen[str]) -> None:
    """Wait until something is true of a run that goes on."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert run.poll() is None, f"the run ended before: {run.communicate()}"
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def provider_dies(clone: Clone, call: int, when: str) -> None:
    """The provider ends, the engine lives on and reports a failure."""
    with clone.world() as world:
        world.plan_fault(when, call)
    assert clone.up().returncode == 1


def killed_in_call(clone: Clone, call: int, everything: bool) -> None:
    """SIGKILL while a call is under way and the cloud has not acted."""
    with clone.world() as world:
        world.plan_fault("slow", call, amount=PATIENCE)
        run = clone.start("up", clone.stack, "--sandbox", "--yes")
        until(lambda: not world.faults(), run)
    kill(clone, run, everything)


def killed_after_call(clone: Clone, call: int, everything: bool) -> None:
    """SIGKILL when the cloud has acted and the engine has not heard of it: it is stopped meanwhile."""
    with clone.world() as world:
        run = clone.start("up", clone.stack, "--sandbox", "--yes")
        until(lambda: len(world.operations()) >= call, run)
        pid = clone.engine_id()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        done = -1
        while done != (done := len(world.operations())):
            time.sleep(0.1)
    kill(clone, run, everything)


def kill(clone: Clone, run: subprocess.Popen[str], everything: bool) -> None:
    """Kill the engine alone (its providers outlive it), or the command with it."""
    pid = clone.engine_id()
    assert pid is not None
    if everything:
        os.killpg(run.pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    assert run.returncode != 0
    assert clone.locks(), "the run left its lock behind"


CUTS: dict[str, Callable[[Clone, int], None]] = {
    "provider dies before": lambda clone, call: provider_dies(clone, call, "die-before"),
    "provider dies after": lambda clone, call: provider_dies(clone, call, "die-after"),
    "engine killed before": lambda clone, call: killed_in_call(clone, call, everything=False),
    "engine killed after": lambda clone, call: killed_after_call(clone, call, everything=False),
    "all killed before": lambda clone, call: killed_in_call(clone, call, everything=True),
    "all killed after": lambda clone, call: killed_after_call(clone, call, everything=True),
}


SAMPLED = ("provider dies after", "engine killed before", "all killed before", "all killed after")
"""Those of `make test`; `make soak` takes all at every call."""


def converges(clone: Clone, cut: str, call: int) -> None:
    """Cut, then up: everything is there once, nothing else is, and it stays."""
    clone.fresh()
    CUTS[cut](clone, call)
    before = clone.secrets()
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert "Traceback" not in up.stdout + up.stderr
    assert not clone.differences(), up.stderr
    assert not clone.state().get("pending_operations")
    assert not clone.locks()
    with clone.world() as world:
        created = Counter(each.urn for each in world.operations() if each.kind == "create" and not each.error)
    assert {urn: count for urn, count in created.items() if count > 1} == {}, "nothing is made twice"
    after = clone.secrets()
    assert {urn: after.get(urn) for urn in before} == before, "no secret that was there has changed"
    again = clone.up()
    assert again.stdout.startswith("no changes"), again.stdout


@pytest.mark.parametrize("cut", SAMPLED, ids=lambda each: each.replace(" ", "-"))
def test_a_run_that_was_cut_off_goes_on_where_it_was(clone: Clone, cut: str) -> None:
    call = random.Random(f"{SEED} {cut}").randint(2, CALLS)
    print(f"MULLION_SEED={SEED}: {cut} call {call}")  # noqa: T201 - pytest shows it where the test fails
    converges(clone, cut, call)


@pytest.mark.soak
@pytest.mark.parametrize("call", range(1, CALLS + 1))
@pytest.mark.parametrize("cut", CUTS, ids=lambda each: each.replace(" ", "-"))
def test_a_run_may_be_cut_off_at_every_call(clone: Clone, cut: str, call: int) -> None:
    converges(clone, cut, call)
