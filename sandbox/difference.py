"""Comparison of old and new inputs of a resource, property by property."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sandbox.cloud import ResourceType
from sandbox.values import UNKNOWN, Asset


@dataclass(frozen=True)
class Difference:
    """Differences of two inputs.

    changes: property path -> `add`, `delete` or `update`. replaces: changed paths that replace the resource.
    delete_first: whether the old resource is deleted before its replacement is created.
    """

    changes: dict[str, str]
    replaces: tuple[str, ...]
    delete_first: bool = False


def compare(row: ResourceType, old: dict[str, Any], new: dict[str, Any]) -> Difference:
    """Compare plain inputs: unordered lists without order, JSON documents as JSON, empty as absent."""
    old, new = _meaning(row, old), _meaning(row, new)
    kept = {name: old[name] for name in row.chosen if name in old and name not in new}
    changes = dict(_changes(old, kept | new, ""))
    further = set(row.replaces(old, new)) if row.replaces else set[str]()
    replaces = tuple(path for path in changes if _covers(row.immutable, path) or re.split(r"[.[]", path)[0] in further)
    return Difference(changes, replaces)


def _covers(immutable: tuple[str, ...], path: str) -> bool:
    bare = re.sub(r"\[\d+\]", "", path)
    return any(bare == entry or bare.startswith(f"{entry}.") or entry.startswith(f"{bare}.") for entry in immutable)


def _meaning(row: ResourceType, inputs: dict[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in inputs.items() if value not in (None, [], {})}
    for name in row.unordered:
        if isinstance(values.get(name), list):
            values[name] = sorted(values[name], key=lambda item: json.dumps(item, sort_keys=True, default=repr))
    for name in row.documents:
        if isinstance(values.get(name), str):
            with suppress(ValueError):  # not JSON: compared as text; the cloud refuses it
                values[name] = {"document": json.loads(values[name])}
    return values


def _changes(old: Any, new: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield paths as the engine writes them (a.b[0].c); a path ends if either side is no container, or is unknown."""
    if isinstance(old, dict) and isinstance(new, dict) and "document" not in new:
        for name in dict.fromkeys([*old, *new]):
            yield from _member(old, new, name, f"{path}.{name}" if path else name)
    elif isinstance(old, list) and isinstance(new, list):
        first, second = dict(enumerate(old)), dict(enumerate(new))
        for index in range(max(len(old), len(new))):
            yield from _member(first, second, index, f"{path}[{index}]")
    elif isinstance(old, Asset) and isinstance(new, Asset):
        if old.hash != new.hash:
            yield path, "update"
    elif old != new or new is UNKNOWN:
        yield path, "update"


def _member(old: dict[Any, Any], new: dict[Any, Any], name: Any, path: str) -> Iterator[tuple[str, str]]:
    before, after = old.get(name), new.get(name)
    if before in (None, [], {}) and after in (None, [], {}):
        return
    if before is None:
        yield path, "add"
    elif after is None:
        yield path, "delete"
    else:
        yield from _changes(before, after, path)
