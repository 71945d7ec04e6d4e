"""Versions in their order: the only place of the project that compares two of them."""

from collections.abc import Iterable


def order(version: str) -> tuple[int, ...]:
    """Versions as they follow each other: 1.9 before 1.10. ValueError where a part is no number."""
    return tuple(int(part) for part in version.split("."))


def minor(version: str) -> str:
    """1.32 of 1.32.13; a minor stays as it is."""
    return ".".join(version.split(".")[:2])


def within(version: str, first: str, last: str) -> bool:
    """Whether the version lies between the two, both included; an empty one sets no bound."""
    return (not first or order(first) <= order(version)) and (not last or order(version) <= order(last))


def older(version: str, other: str) -> bool:
    """Whether the first comes before the other."""
    return order(version) < order(other)


def in_order(versions: Iterable[str]) -> list[str]:
    """Oldest first."""
    return sorted(versions, key=order)
