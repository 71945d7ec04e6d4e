"""Turns failures of the engine into short messages, and interrupts the engine without breaking calls in progress."""

import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from pulumi import automation as auto

from operations.console.command_line import to_continue
from operations.console.exits import Exit, Stop
from operations.engine import hints, locks, process, workspace
from operations.engine.events import Tally
from operations.stacks import target

_WORTH = re.compile(r"(?:stderr: )?error: (.*)")
_HOLDER = re.compile(r"created by (.+)")
"""Holder of a lock in the engine's message, for backends without lock files here: user@host (pid 1) at time."""
_KILLED = re.compile(r"code: -(\d+)")
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals of Ctrl-C, a cancelled CI job and a closed terminal. The engine runs in its own session, so none reaches
it. All ask to stop; only SIGINT, which a person sends, counts a second time: runners send SIGINT and, 7.5 s later,
SIGTERM, and an engine that is killed between creations leaves resources that no state has."""
_CUT = "summary event never found"
"""Message of the Automation API's exception if the engine's events end early."""
_NO_LOGIN = "PULUMI_ACCESS_TOKEN must be set"


# the Automation API's warning about a killed engine; `message` explains it
warnings.filterwarnings("ignore", "Error in event stream", UserWarning)


@contextmanager
def reported(name: str, tally: Tally | None = None) -> Iterator[None]:
    """Turn exceptions of the engine into a Stop that names each failed resource and has the API's code and message.

    The message about an interruption names the command that continues (operations/console/command_line.py).
    """
    interrupted = threading.Event()
    with _patient(interrupted):
        try:
            yield
        except auto.CommandError as error:
            if not interrupted.is_set():
                said = message(name, error, tally)
                if isinstance(error, auto.ConcurrentUpdateError):
                    raise locks.Locked(said, str(error)) from None
                raise Stop(Exit.FAILED, said) from None
        except RuntimeError as error:
            if _CUT not in str(error):
                raise
            raise Stop(Exit.FAILED, f"stack {name}: the engine ended without a summary; run this again") from error
        except json.JSONDecodeError as error:
            raise Stop(Exit.FAILED, f"stack {name}: the engine's answer is not JSON: {error}") from error
        if interrupted.is_set():  # even after exit code 0: an interrupted `destroy` ends well half-way
            with suppress(Stop):  # raised if another run holds the stack already
                locks.cancel_dead(name, workspace.backend())
            raise Stop(
                Exit.INTERRUPTED,
                f"interrupted; the state has all that was created. To continue: {_again(name, tally)}",
            )


def message(name: str, error: auto.CommandError, tally: Tally | None) -> str:
    """Return a message for an engine's error: what failed, and what to do."""
    if isinstance(error, auto.ConcurrentUpdateError):
        holder = _HOLDER.search(str(error))
        by = f" by {holder[1].strip()}" if holder else ""
        return f"stack {name} is locked{by}. Wait for that run; if it has ended: pulumi cancel --yes --stack {name}"
    faults = tally.errors if tally else []
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        advice = hints.of_stack(name, listed) or ["Correct it and run this again; created resources are kept"]
        return "\n".join([f"stack {name}: {len(faults)} failed", listed, *advice])
    if killed := _KILLED.search(str(error)):
        return (
            f"stack {name}: the engine was killed (signal {killed[1]}); `{_again(name, tally)}` recovers and continues"
        )
    if _NO_LOGIN in str(error):
        return f"stack {name}: no backend for its state is set; run pulumi login, or use --sandbox"
    errors = [match[1] for line in str(error).splitlines() if (match := _WORTH.match(line.strip())) and match[1]]
    return f"stack {name}: the engine ended with: {'; '.join(errors) or 'no message'}"


def reason(error: Exception) -> str:
    """Return the last line of an error, which says why, without the engine's marks."""
    text = (str(error).strip() or type(error).__name__).splitlines()[-1]
    return text.strip().removeprefix("stderr: ").removeprefix("error: ")


def _again(name: str, tally: Tally | None) -> str:
    """Return the command that continues a run; outside a command line `up`, or `down` if the tally is of a removal."""
    return to_continue() or target.command("down" if tally and tally.removal else "up", name)


_depth: list[None] = []
_asked: list[int] = []
"""Signals that were handled in the open contexts of `_handled_by`; `_depth` has an entry for each context."""
_held: list[str] = []
"""Messages of `holding`: each holds back one signal."""


@contextmanager
def holding(message: str) -> Iterator[None]:
    """Do not stop at the first signal in this context, but print this message: the work must not be left half-done."""
    _held.append(message)
    try:
        yield
    finally:
        _held.clear()


def held() -> bool:
    """Return whether a signal is to be held back, and print the message if so. For signal handlers."""
    if _held:
        _say(_held.pop())
        return True
    return False


def _say(text: str) -> None:
    """Print a line to standard error from a signal handler.

    The handler may have interrupted a write to sys.stderr, whose buffer then refuses another one (RuntimeError).
    """
    line = f"\nmullion: {text}\n"
    try:
        file = sys.stderr.fileno()
    except (OSError, ValueError):  # not a file of the system, such as the buffer of a test
        print(line, end="", file=sys.stderr, flush=True)
        return
    with suppress(OSError):
        os.write(file, line.encode())


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn Ctrl-C, a cancelled CI job and a closed terminal into KeyboardInterrupt.

    Runs of the engine in this context stop as in `reported`.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if not held():
            raise KeyboardInterrupt

    with _handled_by(handle):
        yield


@contextmanager
def _handled_by(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have this function handle the signals of STOPPING, and restore their handlers afterwards.

    Once a signal was handled, in this context or one around it, only SIGINT is handled again.
    """

    def once(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT or not _asked:
            _asked.append(number)
            handle(number, frame)

    outermost = not _depth
    _depth.append(None)
    before = {number: signal.signal(number, once) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _depth.pop()
        if outermost:
            _asked.clear()


@contextmanager
def _patient(interrupted: threading.Event) -> Iterator[None]:
    """On a first signal let the engine finish calls in progress; on Ctrl-C after it kill it.

    The engine's program runs in this process, so this process must not end first.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if held():
            return
        if not process.running():
            raise KeyboardInterrupt
        if interrupted.is_set():
            process.end()
            return
        interrupted.set()
        _say("stopping after the calls in progress; press again to stop at once")
        process.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handled_by(handle):
        yield
