"""Merging a user's values over ours."""

from collections.abc import Mapping
from typing import Any, cast


def merge(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Both documents in one: mappings are merged key by key, lists of named mappings name by name.

    Anything else of theirs replaces ours. kubeadm's extraArgs are a mapping up to v1beta3 and such a list from v1beta4
    on: one argument of the user's must not take away ours, encryption at rest among them.
    """
    merged = dict(ours)
    for key, value in theirs.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and set(old) != {"ref"}  # type: ignore[reportUnknownArgumentType]
        ours_named, theirs_named = _named(old), _named(value)
        if ours_named and theirs_named:
            names = {each["name"] for each in theirs_named}
            merged[key] = [*(each for each in ours_named if each["name"] not in names), *theirs_named]
        else:
            merged[key] = merge(old, value) if both else value  # type: ignore[reportUnknownArgumentType]
    return merged


def _named(value: Any) -> list[Mapping[str, Any]]:
    """The elements of a list that each have a name; empty for anything else."""
    found = cast(list[Any], value) if isinstance(value, list) else []
    return found if all(isinstance(each, Mapping) and "name" in each for each in found) else []
