"""What a command prints as its result, on a standard output that may be full or have no reader any more."""

import os
import sys

from operations.exits import Exit, Stop


def show(text: str, end: str = "\n") -> None:
    """Print all of a text now. A reader that has left is no fault (`| head -1`); Stop where it cannot be written."""
    try:
        print(text, end=end, flush=True)
    except OSError as error:
        # what is still buffered would fail again at the interpreter's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise Stop(Exit.USAGE, f"standard output: {error}; write to a place that takes it") from error
