"""Thresholds of Python's garbage collector for short-lived programs that import the clouds' SDKs."""

import gc

THRESHOLDS = (50_000, 20, 100)
"""Arguments of `gc.set_threshold`; Python's defaults are 700 (2,000 since 3.13), 10 and 10."""


def collect_rarely() -> None:
    """Make the collector run rarely in this process.

    The SDKs' modules are hundreds of thousands of objects that live until the end, and each full collection visits all
    of them: a sixth of the CPU time of an `up` of a small stack, more than half of the program's with a thousand
    workers (`make bench`). Garbage that is collected later takes less than a tenth more memory.
    """
    gc.set_threshold(*THRESHOLDS)
