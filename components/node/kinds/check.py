"""Checks values against their types without a schema library, because every process that makes node plans checks them.

Only keywords that the kinds table uses are implemented; a test compares the results with a JSON schema validator.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from components.node.kinds.model import Type
from components.node.kinds.references import DOCUMENTS, REFERENCES

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": (list, tuple),
    "object": Mapping,
}
_pattern = cache(re.compile)


def problems(value: Any, kind: Type, where: str) -> Iterator[str]:
    """Yield what is wrong with the value, as sentences that begin with `where`."""
    name = reference(value)
    if name is not None:
        yield from _reference_problems(name, kind, where)
    elif "enum" in kind:
        if not any(value == each and type(value) is type(each) for each in kind["enum"]):
            yield f"{where} is {value!r}, not one of {kind['enum']}"
    elif not kind:
        yield from _document_problems(value, where)
    elif not isinstance(value, _TYPES[kind["type"]]) or (isinstance(value, bool) and kind["type"] == "integer"):
        yield f"{where} is {value!r}, not of type {kind['type']}"
    elif kind["type"] in _JUDGES:
        yield from _JUDGES[kind["type"]](value, kind, where)


def reference(value: Any) -> str | None:
    """Return the name in {"ref": name}, or None if the value is not a reference."""
    # most values are texts and numbers; isinstance(value, Mapping), an abstract class, would cost ten times as much
    if isinstance(value, str | int) or not isinstance(value, Mapping) or len(cast(Mapping[str, Any], value)) != 1:
        return None
    fields = cast(Mapping[str, Any], value)
    return str(fields["ref"]) if "ref" in fields else None


def references(document: Any) -> Iterator[str]:
    """Yield the names of all references in a document."""
    name = reference(document)
    if name is not None:
        yield name
        return
    for each in _members(document).values():
        yield from references(each)


def _members(document: Any) -> Mapping[Any, Any]:
    if isinstance(document, str | int):
        return {}
    if isinstance(document, Mapping):
        return cast(Mapping[Any, Any], document)
    return dict(enumerate(cast(Sequence[Any], document))) if isinstance(document, list | tuple) else {}


def _reference_problems(name: str, kind: Type, where: str) -> Iterator[str]:
    if name not in REFERENCES:
        yield f"{where}: {name!r} is no reference; components/node/kinds/references.py lists them"
    elif kind and (kind.get("type") != "string" or name in DOCUMENTS):
        yield f"{where} cannot be the reference {name}"


def _document_problems(value: Any, where: str) -> Iterator[str]:
    for key, each in _members(value).items():
        yield from problems(each, {}, f"{where}.{key}")


def _text_problems(value: str, kind: Type, where: str) -> Iterator[str]:
    if len(value) < kind.get("minLength", 0):
        yield f"{where} is empty"
    if "pattern" in kind and not _pattern(kind["pattern"]).search(value):
        yield f"{where} is {value!r}, which does not match {kind['pattern']}"


def _number_problems(value: int, kind: Type, where: str) -> Iterator[str]:
    if not kind.get("minimum", value) <= value <= kind.get("maximum", value):
        yield f"{where} is {value}, not from {kind.get('minimum')} to {kind.get('maximum', 'any')}"


def _list_problems(value: Sequence[Any], kind: Type, where: str) -> Iterator[str]:
    first = kind.get("prefixItems", [])
    if len(value) < kind.get("minItems", 0) or (kind.get("items") is False and len(value) > len(first)):
        yield f"{where} has {len(value)} items"
        return
    for place, each in enumerate(value):
        yield from problems(each, first[place] if place < len(first) else kind.get("items", {}), f"{where}[{place}]")


def _object_problems(value: Mapping[str, Any], kind: Type, where: str) -> Iterator[str]:
    if not kind.get("minProperties", 0) <= len(value) <= kind.get("maxProperties", len(value)):
        yield f"{where} has {len(value)} members, not {kind.get('minProperties')}"
    properties, others = kind.get("properties", {}), kind["additionalProperties"]
    for name, member in value.items():
        if name not in properties and others is False:
            yield f"{where}.{name} is unknown; there are {', '.join(properties)}"
        else:
            yield from problems(member, properties.get(name, others), f"{where}.{name}")


_JUDGES: dict[str, Any] = {
    "string": _text_problems,
    "integer": _number_problems,
    "array": _list_problems,
    "object": _object_problems,
}
