"""Interruptions of a run: which process dies, and whether the cloud has acted on the interrupted call.

From one call on, all calls to the cloud are delayed, so the interruption comes at a known call: before the cloud acts,
or after it acted but before the engine gets the answer. All calls in progress, up to the engine's limit,
are interrupted together.
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

DELAY_SECONDS = 10 * RUN_SECONDS
"""Seconds that a call is delayed: longer than any run."""
ALL = 10**6
"""Number of calls that no run reaches."""
QUIET = 0.3
"""Seconds without progress after which all calls in progress count as delayed."""

Done = subprocess.CompletedProcess[str]
Cut = Callable[[ScratchClone, tuple[str, ...], int], Done]
"""Runs the command with these words and interrupts it at this call of the cloud (the first is 1), or lets it end if it
makes fewer. Clears all planned faults."""


def _provider_dies(kind: str, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """Kill the provider; the engine survives and reports a failure."""
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, kind, call, amount=QUIET, times=ALL)
    done = clone.run(*words)
    _clear_faults(clone)
    return done


def _killed(kind: str, everything: bool, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """Kill the engine alone (its provider then ends by itself), or the command and the engine together."""

    def kill(run: subprocess.Popen[str]) -> None:
        engine = clone.engine_id()
        if everything:
            os.killpg(run.pid, signal.SIGKILL)
        if engine is not None:
            os.kill(engine, signal.SIGKILL)

    return _delayed(kind, DELAY_SECONDS, kill, clone, words, call)


def _interrupted(times: int, clone: ScratchClone, words: tuple[str, ...], call: int) -> Done:
    """Send SIGINT once or twice during calls in progress."""

    def press(run: subprocess.Popen[str]) -> None:
        for _ in range(times):
            run.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                run.wait(QUIET)

    return _delayed("slow", 2 * QUIET, press, clone, words, call)


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
"""Interruptions by name; before and after: whether the cloud acted on the call."""


def _delayed(
    kind: str,
    seconds: float,
    cut: Callable[[subprocess.Popen[str]], None],
    clone: ScratchClone,
    words: tuple[str, ...],
    call: int,
) -> Done:
    """Delay each call by `seconds`, and interrupt once nothing else is in progress."""
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, kind, call, amount=seconds, times=ALL)
        with clone.start(*words) as run:
            if _only_delayed_calls_remain(cloud_state, run):
                cut(run)
            output, errors = run.communicate(timeout=RUN_SECONDS)
    _clear_faults(clone)
    return Done(words, run.returncode, output, errors)


def _only_delayed_calls_remain(cloud_state: CloudState, run: subprocess.Popen[str]) -> bool:
    """Wait until calls are delayed and no others arrive; return False if the run ends before."""
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


def _clear_faults(clone: ScratchClone) -> None:
    with clone.cloud_state() as cloud_state:
        faults.clear(cloud_state)
