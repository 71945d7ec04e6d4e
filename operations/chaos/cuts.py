"""Ways to cut a run off in its middle, on purpose: who goes, and whether the cloud has acted before.

Calls of the cloud are held from one on, so that a cut comes at a known place: before they act, or once they have and
the engine has not heard of it. All that are under way then, up to the engine's own limit, are cut off together.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from operations.chaos.clone import RUN_SECONDS, ScratchClone
from sandbox import faults
from sandbox.cloud_state import CloudState

HELD = 10 * RUN_SECONDS
"""Seconds a call is held: longer than any run."""
ALL = 10**6
"""More calls than any run makes."""
QUIET = 0.3
"""Seconds without a sign of progress after which every call that can be under way is held."""

Done = subprocess.CompletedProcess[str]
Cut = Callable[[ScratchClone, tuple[str, ...], int], Done]
"""Runs the command with these words, cut off at this call of the cloud (the first is 1), or to its end where it makes
fewer. No fault is left waiting."""


def _provider_dies(kind: str, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """The provider ends; the engine lives on and reports a failure."""
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, kind, call, amount=QUIET, times=ALL)
    done = clone.run(*words)
    _forget(clone)
    return done


def _killed(kind: str, everything: bool, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """SIGKILL for the engine alone (its provider sees that and ends), or for command and engine together."""

    def kill(run: subprocess.Popen[str]) -> None:
        engine = clone.engine_id()
        if everything:
            os.killpg(run.pid, signal.SIGKILL)
        if engine is not None:
            os.kill(engine, signal.SIGKILL)

    return _held(kind, HELD, kill, clone, words, call)


def _interrupted(times: int, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """Ctrl-C, once or twice, while calls are under way."""

    def press(run: subprocess.Popen[str]) -> None:
        for _ in range(times):
            run.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                run.wait(QUIET)

    return _held("slow", 2 * QUIET, press, clone, words, call)


CUTS: dict[str, Cut] = {
    "provider dies before": partial(_provider_dies, "die-before"),
    "provider dies after": partial(_provider_dies, "die-after"),
    "engine killed before": partial(_killed, "slow", False),
    "engine killed after": partial(_killed, "late", False),
    "all killed before": partial(_killed, "slow", True),
    "all killed after": partial(_killed, "late", True),
    "Ctrl-C": partial(_interrupted, 1),
    "Ctrl-C twice": partial(_interrupted, 2),
}
"""By what happens; before and after: the cloud acted."""


def _held(
    kind: str,
    seconds: float,
    cut: Callable[[subprocess.Popen[str]], None],
    clone: ScratchClone,
    words: tuple[str, ...],
    call: int,
) -> Done:
    """Hold calls, each for so long, and cut once nothing else goes on."""
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, kind, call, amount=seconds, times=ALL)
        with clone.start(*words) as run:
            if _nothing_goes_on(cloud_state, run):
                cut(run)
            output, errors = run.communicate(timeout=RUN_SECONDS)
    _forget(clone)
    return Done(words, run.returncode, output, errors)


def _nothing_goes_on(cloud_state: CloudState, run: subprocess.Popen[str]) -> bool:
    """Wait until calls are held and no others come; False where the run ends before."""
    end, seen, since = time.monotonic() + RUN_SECONDS, None, 0.0
    while run.poll() is None:
        now = time.monotonic()
        if now > end:
            raise subprocess.TimeoutExpired(run.args, RUN_SECONDS)
        waiting, calls = faults.planned(cloud_state), len(cloud_state.operations())
        if (waiting, calls) != seen:
            seen, since = (waiting, calls), now
        elif any(fault.times < ALL for fault in waiting) and now - since > QUIET:
            return True
        time.sleep(0.02)
    return False


def _forget(clone: ScratchClone) -> None:
    with clone.cloud_state() as cloud_state:
        faults.clear(cloud_state)
