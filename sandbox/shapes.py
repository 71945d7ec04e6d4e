"""Property shapes (properties.json), and checks of inputs for unknown, missing and mistyped properties."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sandbox.values import UNKNOWN, Asset, Secret

SCALARS: dict[str, tuple[type[Any], ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "asset": (Asset,),
    "any": (object,),
}
NUMBERS = ("integer", "number")
"""Shapes for which a bool passes isinstance."""


@dataclass(frozen=True)
class Failure:
    """A fault of an input: property path (empty for the whole resource) and reason."""

    property: str
    reason: str


class Shapes:
    """Shapes of a cloud's types."""

    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_text(encoding="utf-8"))
        self.resources: dict[str, dict[str, Any]] = document["resources"]
        self.objects: dict[str, dict[str, str]] = document["objects"]

    def check(self, type: str, inputs: dict[str, Any]) -> list[Failure]:
        """Return the failures of a resource's inputs; UNKNOWN matches any shape."""
        return list(self._properties(self.resources[type]["inputs"], inputs, ""))

    def inputs(self, type: str) -> dict[str, str]:
        """Return the shapes of a type's inputs by property name."""
        return self.resources[type]["inputs"]

    def outputs(self, type: str) -> list[str]:
        """Return the names of a type's outputs that are not inputs."""
        return self.resources[type]["outputs"]

    def _properties(self, rows: dict[str, str], values: dict[str, Any], prefix: str) -> Iterator[Failure]:
        for name, value in values.items():
            if name not in rows:
                near = get_close_matches(name, rows, 1)
                yield Failure(prefix + name, "no such property" + (f"; did you mean {near[0]}?" if near else ""))
            elif value is not None:
                yield from self._value(rows[name].removesuffix("!"), value, prefix + name)
        for name, shape in rows.items():
            if shape.endswith("!") and values.get(name) is None:
                yield Failure(prefix + name, "missing required property")

    def _value(self, shape: str, value: Any, path: str) -> Iterator[Failure]:
        if isinstance(value, Secret):
            value = value.value
        if value is UNKNOWN:
            return
        if "|" in shape and shape[0] not in "[{":
            failures = [list(self._value(alternative, value, path)) for alternative in shape.split("|")]
            yield from [] if [] in failures else failures[0]
        elif shape[0] == "[" and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._value(shape[1:-1], item, f"{path}[{index}]")
        elif shape[0] == "{" and isinstance(value, dict):
            for name, item in value.items():
                yield from self._value(shape[1:-1], item, f"{path}.{name}")
        elif shape[0] == "#" and isinstance(value, dict):
            yield from self._properties(self.objects[shape[1:]], value, f"{path}.")
        elif not isinstance(value, SCALARS.get(shape, ())) or (isinstance(value, bool) and shape in NUMBERS):
            yield Failure(path, f"must be {_words(shape)}, not {_kind(value)}")


def _words(shape: str) -> str:
    kinds = {"[": "a list", "{": "a map", "#": "an object"}
    return kinds.get(shape[0]) or f"{'an' if shape[0] in 'aeiou' else 'a'} {shape}"


def _kind(value: Any) -> str:
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "an asset" if isinstance(value, Asset) else "nothing")
