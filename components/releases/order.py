"""Order of versions. No other module of the project compares two versions."""

import re
from collections.abc import Iterable

_VERSION = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}", re.ASCII)


def is_version(text: str) -> bool:
    """Return whether a text from outside, such as a Node's, is a version with three numbers."""
    return bool(_VERSION.fullmatch(text))


def order(version: str) -> tuple[int, ...]:
    """Return a sort key of a version: 1.9 comes before 1.10. Raises ValueError if a part is not a number."""
    return tuple(int(part) for part in version.split("."))


def minor(version: str) -> str:
    """Return the minor of a version: 1.37 of 1.37.0, and of 1.37."""
    return ".".join(version.split(".")[:2])


def within(version: str, first: str, last: str) -> bool:
    """Return whether a version is between two others, both included; "" is no bound."""
    return (not first or order(first) <= order(version)) and (not last or order(version) <= order(last))


def older(version: str, other: str) -> bool:
    """Return whether a version is older than another."""
    return order(version) < order(other)


def in_order(versions: Iterable[str]) -> list[str]:
    """Return versions, oldest first."""
    return sorted(versions, key=order)
