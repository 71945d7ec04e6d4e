"""Standard output and standard error of the command, which may be full or have no reader any more.

A run of the engine goes on all the same: what it does is worth more than the lines that tell of it.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from operations.console.exits import Exit, ending


class _Lossy(io.FileIO):
    """A file that takes everything: what cannot be written is lost, and `fault` says why."""

    fault: OSError | None = None

    def write(self, content: Any) -> int | None:
        if self.fault is None:
            try:
                return super().write(content)
            except OSError as error:
                self.fault = error
        return memoryview(content).nbytes


@contextmanager
def guarded() -> Iterator[None]:
    """Let nothing in here fail because its output cannot be written: SystemExit says it at the end, with code FAILED.

    A reader that has left is no fault (`| head -1`).
    """
    before = sys.stdout, sys.stderr
    if None in before:  # closed by who started us; print() knows that
        yield
        return
    output, errors = (_Lossy(each.fileno(), "w", closefd=False) for each in before)
    sys.stdout, sys.stderr = _text(output, before[0]), _text(errors, before[1])
    code: Any = Exit.OK
    try:
        yield
    except SystemExit as end:
        code = end.code
    except Exception as error:  # outside of any command: reading the command line
        code, message = ending(error)
        print(f"mullion: {message}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        if output.fault and not isinstance(output.fault, BrokenPipeError):
            code = code or Exit.FAILED
            print(f"mullion: standard output: {output.fault}; what was to be printed is lost", file=sys.stderr)
        sys.stderr.flush()
        sys.stdout, sys.stderr = before
    raise SystemExit(code)


def _text(raw: _Lossy, like: Any) -> Any:
    return io.TextIOWrapper(io.BufferedWriter(raw), like.encoding, like.errors, line_buffering=like.line_buffering)
