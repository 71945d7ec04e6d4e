"""Thresholds of Python's garbage collector for programs that run for seconds and import a cloud's SDK."""

import atexit
import gc

THRESHOLDS = (200_000, 20, 100)
"""Arguments of `gc.set_threshold`; Python's defaults are 700 (2,000 since 3.13), 10 and 10.

`mullion plan` makes 74,000 objects and is never interrupted.
"""


def collect_rarely() -> None:
    """Make garbage collection rare in this process.

    The SDKs' modules are hundreds of thousands of objects that live to the end, and each full collection visits all of
    them: a sixth of the CPU time of an `up` of a small stack, more than half of the program's own with a thousand
    workers (`make bench`). Memory grows by less than a tenth.
    """
    gc.set_threshold(*THRESHOLDS)


def end_without_collection() -> None:
    """Skip the garbage collection at the interpreter's exit, which would visit every object.

    `with`, `atexit` or `weakref.finalize` remove what must be removed before the exit.
    """
    atexit.register(gc.freeze)
