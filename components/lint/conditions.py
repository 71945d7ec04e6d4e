"""Conditions about Kubernetes objects. The linter evaluates them in Python, the API server in CEL.

`find` returns the places in a document that meet the condition; `cel` returns an expression that is true if any place
does. Paths are dotted. An empty path is the value itself.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

Place = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value."""


@dataclass(frozen=True)
class Condition:
    """A condition about a value, for example about a pod's spec."""

    find: Callable[[Any, Place], list[Place]]
    """Return the places in the value, which is at the given place, that meet the condition."""
    cel: Callable[[str, int], str]
    """Return the CEL expression; arguments: the name of the value's variable, and the depth of nested variables."""

    def holds(self, value: Any) -> bool:
        """Return whether a value meets the condition."""
        return bool(self.find(value, ()))

    def __and__(self, other: "Condition") -> "Condition":
        """Return a condition that holds if both do; its places are those of the second."""
        return Condition(
            lambda value, at: other.find(value, at) if self.find(value, at) else [],
            lambda name, depth: f"({self.cel(name, depth)} && {other.cel(name, depth)})",
        )

    def __or__(self, other: "Condition") -> "Condition":
        """Return a condition that holds if one does; its places are those of both."""
        return Condition(
            lambda value, at: [*self.find(value, at), *other.find(value, at)],
            lambda name, depth: f"({self.cel(name, depth)} || {other.cel(name, depth)})",
        )

    def __invert__(self) -> "Condition":
        """Return a condition that holds if this one does not; its place is the value."""
        return Condition(
            lambda value, at: [] if self.find(value, at) else [at],
            lambda name, depth: f"!({self.cel(name, depth)})",
        )


def has(path: str) -> Condition:
    """Return a condition: the field is set."""
    return _leaf(path, lambda value: value is not None, lambda name: f"{_optional(name, path)}.hasValue()")


def equals(path: str, wanted: str | int | bool) -> Condition:
    """Return a condition: the field has the value."""
    return _leaf(
        path,
        lambda value: type(value) is type(wanted) and value == wanted,
        lambda name: f"{_or(name, path, _neutral(wanted))} == {json.dumps(wanted)}",
    )


def same(path: str, other: str) -> Condition:
    """Return a condition: two fields have the same value."""

    def find(value: Any, at: Place) -> list[Place]:
        return [(*at, *_keys(path))] if read(value, path) == read(value, other) else []

    return Condition(find, lambda name, _depth: f"{_optional(name, path)} == {_optional(name, other)}")


def one_of(path: str, wanted: Sequence[str]) -> Condition:
    """Return a condition: the field is one of the texts."""
    return _leaf(
        path,
        lambda value: value in wanted,
        lambda name: f"{_or(name, path, _EMPTY)} in {json.dumps(list(wanted))}",
    )


def matches(path: str, pattern: str) -> Condition:
    """Return a condition: the pattern is found in the field. The pattern means the same in Python and RE2."""
    return _leaf(
        path,
        lambda value: isinstance(value, str) and bool(re.search(pattern, value)),
        lambda name: f"{_or(name, path, _EMPTY)}.matches({json.dumps(pattern)})",
    )


def key_matches(path: str, pattern: str) -> Condition:
    """Return a condition: the map has a key in which the pattern is found."""

    def find(value: Any, at: Place) -> list[Place]:
        inner = read(value, path)
        keys = cast(Mapping[str, Any], inner) if isinstance(inner, Mapping) else ()
        return [(*at, *_keys(path), key) for key in keys if re.search(pattern, key)]

    def cel(name: str, depth: int) -> str:
        return f"{_many(name, path, '{}')}.exists(v{depth}, v{depth}.matches({json.dumps(pattern)}))"

    return Condition(find, cel)


def exists(path: str, inner: Condition) -> Condition:
    """Return a condition: an item of the list meets the inner one."""

    def find(value: Any, at: Place) -> list[Place]:
        return [place for item, place in _items(value, path, at) for place in inner.find(item, place)]

    def cel(name: str, depth: int) -> str:
        return f"{_many(name, path, '[]')}.exists(v{depth}, {inner.cel(f'v{depth}', depth + 1)})"

    return Condition(find, cel)


def every(path: str, inner: Condition) -> Condition:
    """Return a condition: the list has items, and all of them meet the inner one."""

    def find(value: Any, at: Place) -> list[Place]:
        found = list(_items(value, path, at))
        return [(*at, *_keys(path))] if found and all(inner.find(item, place) for item, place in found) else []

    def cel(name: str, depth: int) -> str:
        all_items = _many(name, path, "[]")
        return f"(size({all_items}) > 0 && {all_items}.all(v{depth}, {inner.cel(f'v{depth}', depth + 1)}))"

    return Condition(find, cel)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Return a condition: one of them holds."""
    joined = conditions[0]
    for condition in conditions[1:]:
        joined |= condition
    return joined


def shared(name: str, condition: Condition) -> Condition:
    """Return the condition with its CEL kept in a variable of the policy, `variables.NAME`."""
    return Condition(condition.find, lambda _name, _depth: f"variables.{name}")


def read(value: Any, path: str) -> Any:
    """Return the value at a path; None if it is missing."""
    for key in _keys(path):
        value = cast(Mapping[str, Any], value).get(key) if isinstance(value, Mapping) else None
    return value


def items(value: Any) -> list[Any]:
    """Return a list of a document; an empty one if it is something else."""
    return cast(list[Any], value) if isinstance(value, list) else []


_EMPTY = '""'


def _leaf(path: str, test: Callable[[Any], bool], cel: Callable[[str], str]) -> Condition:
    def find(value: Any, at: Place) -> list[Place]:
        return [(*at, *_keys(path))] if test(read(value, path)) else []

    return Condition(find, lambda name, _depth: cel(name))


def _items(value: Any, path: str, at: Place) -> Iterator[tuple[Any, Place]]:
    for index, item in enumerate(items(read(value, path))):
        yield item, (*at, *_keys(path), index)


def _keys(path: str) -> list[str]:
    """Return the keys of a path; a key with dots is in brackets, as in nodeSelector[kubernetes.io/os]."""
    return [quoted or plain for quoted, plain in re.findall(r"\[([^]]+)\]|([^.\[]+)", path)]


def _optional(name: str, path: str) -> str:
    if not path:
        return f"optional.of({name})"
    parts = (f".?{key}" if re.fullmatch(r"\w+", key) else f"[?{json.dumps(key)}]" for key in _keys(path))
    return f"{name}{''.join(parts)}"


def _or(name: str, path: str, fallback: str) -> str:
    return f"{_optional(name, path)}.orValue({fallback})" if path else name


def _many(name: str, path: str, empty: str) -> str:
    """Return the CEL of a list or map; the API server has null for an empty list that Go does not omit."""
    return f"optional.ofNonZeroValue({_or(name, path, empty)}).orValue({empty})"


def _neutral(wanted: str | int | bool) -> str:
    """Return a CEL value of the same type that differs from the wanted one."""
    if isinstance(wanted, bool):
        return "false" if wanted else "true"
    return "-1" if isinstance(wanted, int) else _EMPTY
