"""Runs of the engine that Azure stops because it still reserves the network interface of a machine that has ended."""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from pulumi import automation as auto

from operations.engine.events import Tally

Result = TypeVar("Result")

CODE = "NicReservedForAnotherVm"
SECONDS = 180.0
"""How long Azure reserves an interface, by the message of this error (gardenlinux issue 4133)."""


def tried(call: Callable[[], Result], tally: Tally, seconds: float) -> Result:
    """Run the engine; if this error alone stops it, wait for these seconds and run it once more."""
    try:
        return call()
    except auto.CommandError:
        if not tally.errors or not all(CODE in error for error in tally.errors):
            raise
    print(
        f"mullion: Azure still reserves the network interface of an ended machine; next try in {seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    time.sleep(seconds)
    tally.errors.clear()
    tally.failed.clear()
    return call()
