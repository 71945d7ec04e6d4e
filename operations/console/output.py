"""Standard output and standard error of the command, which may be on a full disk or a closed pipe.

The engine's run continues without the output, because the state of the cluster matters more.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from operations.console.exits import Exit, ending


class _Lossy(io.FileIO):
    """A file whose writes never fail: text that cannot be written is dropped, and `fault` has the reason."""

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
    """Keep code in this context running if its output cannot be written; raise SystemExit with FAILED at the end.

    A closed pipe (`| head -1`) does not count as a failure.
    """
    before = sys.stdout, sys.stderr
    if None in before:  # closed by the parent process; print() then does nothing
        yield
        return
    output, errors = (_Lossy(each.fileno(), "w", closefd=False) for each in before)
    sys.stdout, sys.stderr = _text(output, before[0]), _text(errors, before[1])
    code: Any = Exit.OK
    try:
        yield
    except SystemExit as end:
        code = end.code
    except Exception as error:  # raised outside of any command, while the command line is parsed
        code, message = ending(error)
        print(f"mullion: {message}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        if output.fault and not isinstance(output.fault, BrokenPipeError):
            code = code or Exit.FAILED
            print(f"mullion: standard output: {output.fault}; the output is lost", file=sys.stderr)
        sys.stderr.flush()
        sys.stdout, sys.stderr = before
    raise SystemExit(code)


def _text(raw: _Lossy, like: Any) -> Any:
    return io.TextIOWrapper(io.BufferedWriter(raw), like.encoding, like.errors, line_buffering=like.line_buffering)
