"""Merge of the user's configuration over Mullion's."""

from collections.abc import Mapping
from typing import Any, cast


def merge(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return both documents merged: mappings by key, lists of named mappings by name; other values of theirs win.

    kubeadm's extraArgs are a mapping up to v1beta3 and a list of named mappings from v1beta4 on: a user's argument must
    not remove Mullion's, such as encryption at rest. For the same reason null leaves a value of ours as it is, and an
    empty list leaves a mapping or a list of named mappings.
    """
    merged = dict(ours)
    for key, value in theirs.items():
        old = merged.get(key)
        if _empties(old, value):
            continue
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and set(old) != {"ref"}  # type: ignore[reportUnknownArgumentType]
        ours_named, theirs_named = _named(old), _named(value)
        if ours_named and theirs_named:
            names = {each["name"] for each in theirs_named}
            merged[key] = [*(each for each in ours_named if each["name"] not in names), *theirs_named]
        else:
            merged[key] = merge(old, value) if both else value  # type: ignore[reportUnknownArgumentType]
    return merged


def _empties(ours: Any, theirs: Any) -> bool:
    """Return whether theirs would remove a value of ours without putting another in its place."""
    parts = isinstance(ours, Mapping) and set(cast(Mapping[str, Any], ours)) != {"ref"}
    return ours is not None and (theirs is None or (theirs == [] and bool(parts or _named(ours))))


def _named(value: Any) -> list[Mapping[str, Any]]:
    """Return a list whose elements all have a name; empty for any other value."""
    elements = cast(list[Any], value) if isinstance(value, list) else []
    return elements if all(isinstance(each, Mapping) and "name" in each for each in elements) else []
