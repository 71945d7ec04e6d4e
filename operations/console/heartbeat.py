"""Lines on standard error that say what a command waits for."""

import sys
import time
from collections.abc import Callable

EVERY_SECONDS = 15.0
"""Longest silence of a command that waits."""


class Heartbeat:
    """Prints what is waited for once every 15 s of a wait, with the seconds waited so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._last = clock()

    def reset(self) -> None:
        """Note that the command has just printed a line of its own."""
        self._last = self._clock()

    @property
    def due(self) -> bool:
        """Whether the last line is 15 s old or older."""
        return self._clock() - self._last >= EVERY_SECONDS

    def beat(self, what: str) -> None:
        """Print `waiting for WHAT` if the last line is 15 s old or older. Call it in each turn of the wait."""
        if self.due:
            now = self._last = self._clock()
            print(f"mullion: waiting for {what} ({now - self._began:.0f} s)", file=sys.stderr, flush=True)
