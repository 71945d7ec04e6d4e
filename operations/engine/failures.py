"""When the engine fails: short messages, and an interruption that lets it finish what it began."""

import json
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from pulumi import automation as auto

from operations.console.exits import Exit, Stop
from operations.engine import locks, process, workspace
from operations.engine.events import Tally

_WORTH = re.compile(r"(?:stderr: )?error: (.*)")
_HOLDER = re.compile(r"created by (.+)")
"""How the engine names who has a lock in a backend that keeps it elsewhere: user@host (pid 1) at time."""
_KILLED = re.compile(r"code: -(\d+)")
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a CI job that is cancelled, a terminal that is closed: none reaches the engine by itself."""
_CUT = "summary event never found"
"""What the Automation API raises if the engine's events end early."""
_NO_LOGIN = "PULUMI_ACCESS_TOKEN must be set"


# what the Automation API says of an engine that was killed; `message` says it for people
warnings.filterwarnings("ignore", "Error in event stream", UserWarning)


@contextmanager
def reported(name: str, tally: Tally | None = None) -> Iterator[None]:
    """Turn what the engine raises into a Stop that names each resource, the API's code and its words."""
    interrupted = threading.Event()
    with _patient(interrupted):
        try:
            yield
        except auto.CommandError as error:
            if not interrupted.is_set():
                raise Stop(Exit.FAILED, message(name, error, tally)) from None
        except RuntimeError as error:
            if _CUT not in str(error):
                raise
            raise Stop(Exit.FAILED, f"stack {name}: the engine ended without a summary; run this again") from error
        except json.JSONDecodeError as error:
            raise Stop(Exit.FAILED, f"stack {name}: the engine's answer is not JSON: {error}") from error
        if interrupted.is_set():  # also where it ended well: an engine that is asked to stop a removal does, half-way
            with suppress(Stop):  # where another run has the stack already
                locks.cancel_dead(name, workspace.backend())
            raise Stop(Exit.INTERRUPTED, f"interrupted; what was made is in the state, and `mullion up {name}` goes on")


def message(name: str, error: auto.CommandError, tally: Tally | None) -> str:
    """Say what the engine could not do, and what to do about it."""
    if isinstance(error, auto.ConcurrentUpdateError):
        holder = _HOLDER.search(str(error))
        by = f" by {holder[1].strip()}" if holder else ""
        return f"stack {name} is locked{by}. Wait for it; if it is gone for sure: pulumi cancel --yes --stack {name}"
    faults = tally.errors if tally else []
    if faults:
        what = "\n".join(f"  {each}" for each in faults)
        return f"stack {name}: {len(faults)} failed\n{what}\nCorrect it and run this again: what was made is kept"
    if killed := _KILLED.search(str(error)):
        return f"stack {name}: the engine was killed (signal {killed[1]}); `mullion up {name}` clears up and goes on"
    if _NO_LOGIN in str(error):
        return f"stack {name}: there is no backend to keep its state in: `pulumi login` first, or use --sandbox"
    said = [match[1] for each in str(error).splitlines() if (match := _WORTH.match(each.strip())) and match[1]]
    return f"stack {name}: the engine ended with: {'; '.join(said) or 'no message'}"


@contextmanager
def _patient(interrupted: threading.Event) -> Iterator[None]:
    """On Ctrl-C let the engine finish what it began, because the program it runs is here; on a second one end it."""

    def heard(number: int, frame: FrameType | None) -> None:
        if not process.running():
            raise KeyboardInterrupt
        if interrupted.is_set():
            process.end()
            return
        interrupted.set()
        print("\nmullion: stopping when the calls under way are done; once more to stop at once", file=sys.stderr)
        process.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, heard) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
