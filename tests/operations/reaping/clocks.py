"""Time for removals in tests."""

import itertools

from operations.reaping import sweep


def passing() -> sweep.Clock:
    """A clock that is a minute later at each look."""
    minutes = itertools.count()
    return sweep.Clock(now=lambda: 60.0 * next(minutes), pause=lambda _: None)
