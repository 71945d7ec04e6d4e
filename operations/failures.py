"""When the engine fails: short messages, and an interruption that lets it finish what it began."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pulumi import automation as auto

from operations.events import Tally
from operations.exits import Exit, Stop

_WORTH = re.compile(r"(?:stderr: )?error: (.*)")
_NO_LOGIN = "PULUMI_ACCESS_TOKEN must be set"


@contextmanager
def reported(name: str, tally: Tally | None = None) -> Iterator[None]:
    """Turn what the engine raises into a Stop that names each resource, the API's code and its words."""
    interrupted = threading.Event()
    with _patient(interrupted):
        try:
            yield
        except auto.CommandError as error:
            if interrupted.is_set():
                raise Stop(
                    Exit.INTERRUPTED, f"interrupted; what was made is in the state, and `mullion up {name}` goes on"
                ) from None
            raise Stop(Exit.FAILED, message(name, error, tally)) from None


def message(name: str, error: auto.CommandError, tally: Tally | None) -> str:
    """Say what the engine could not do, and what to do about it."""
    if isinstance(error, auto.ConcurrentUpdateError):
        return (
            f"another run of stack {name} is under way, or one was cut off. When none is: "
            f"pulumi cancel --stack {name}, then run this again"
        )
    faults = tally.errors if tally else []
    if faults:
        what = "\n".join(f"  {each}" for each in faults)
        return f"stack {name}: {len(faults)} failed\n{what}\nCorrect it and run this again: what was made is kept"
    if _NO_LOGIN in str(error):
        return f"stack {name}: there is no backend to keep its state in: `pulumi login` first, or use --sandbox"
    said = [match[1] for each in str(error).splitlines() if (match := _WORTH.match(each.strip())) and match[1]]
    return f"stack {name}: the engine ended with: {'; '.join(said) or 'no message'}"


@contextmanager
def _patient(interrupted: threading.Event) -> Iterator[None]:
    """On Ctrl-C the engine, which gets it too, stops by itself; leaving at once would cut its connection to us."""

    def heard(number: int, frame: FrameType | None) -> None:
        if not interrupted.is_set():
            print("\nmullion: stopping when the calls under way are done; once more to stop at once", flush=True)
        interrupted.set()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
