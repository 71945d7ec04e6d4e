"""Merging a user's values over ours."""

from collections.abc import Mapping
from typing import Any


def merge(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Both documents in one: mappings are merged key by key, anything else of theirs replaces ours."""
    merged = dict(ours)
    for key, value in theirs.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and set(old) != {"ref"}  # type: ignore[reportUnknownArgumentType]
        merged[key] = merge(old, value) if both else value  # type: ignore[reportUnknownArgumentType]
    return merged
