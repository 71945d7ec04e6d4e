"""Python's collector of cyclic garbage, as programs want it that live for seconds and import the clouds' SDKs."""

import gc

THRESHOLDS = (50_000, 20, 100)
"""For `gc.set_threshold`, where Python has 700 (2,000 since 3.13), 10 and 10."""


def collect_rarely() -> None:
    """Look for garbage seldom, in this whole process.

    The SDKs' modules are hundreds of thousands of objects that stay to the end, and each full collection looks at all
    of them: a sixth of the CPU time of an `up` of a small stack, more than half of the program's own with a thousand
    workers (`make bench`). What a run leaves for the collector meanwhile takes less than a tenth more memory.
    """
    gc.set_threshold(*THRESHOLDS)
