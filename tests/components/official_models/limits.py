"""Limits that every cloud's models state: lengths, ranges and patterns."""

import re
from collections.abc import Iterator
from typing import Any


def broken(
    value: Any,
    at: str,
    *,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Iterator[str]:
    """Yield "path: reason" for each limit that a text, list or number exceeds. pattern: of the whole text."""
    if isinstance(value, (str, list, dict)):
        if min_length is not None and len(value) < min_length:
            yield f"{at}: shorter than {min_length}"
        if max_length is not None and len(value) > max_length:
            yield f"{at}: longer than {max_length}"
    if isinstance(value, str) and pattern and not re.fullmatch(pattern, value):
        yield f"{at}: {value!r} does not match {pattern}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if least is not None and value < least:
            yield f"{at}: {value} is below {least}"
        if most is not None and value > most:
            yield f"{at}: {value} is above {most}"
