"""Text from machines and pods, made harmless for a terminal, a log and an XML document."""

from collections.abc import Mapping
from typing import Any

LONGEST = 2000
"""Characters of a record's text that stay; machines write messages of at most 1000 (cloud-init/linux/report.py)."""

HUGE = 1e15
"""Bound for numbers in a record; the largest real ones are times in seconds."""


def plain(text: object, keep: str = "") -> str:
    """Return a text with a space for each character that is not printable.

    Not printable are terminal escapes, line breaks, and marks that change the direction of writing. keep: characters
    that stay all the same. None is an empty text.
    """
    shown = "" if text is None else str(text)
    return "".join(character if character.isprintable() or character in keep else " " for character in shown)


def plain_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's record with its texts plain and not longer than LONGEST.

    Leave out lists, mappings, and numbers of HUGE or more.
    """
    return {
        name: plain(value[:LONGEST]) if isinstance(value, str) else value
        for name, value in record.items()
        if value is None or isinstance(value, str) or (isinstance(value, bool | int | float) and abs(value) < HUGE)
    }
