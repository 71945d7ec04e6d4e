"""Nested tables as TOML, limited to what containerd's configuration needs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def toml(document: Mapping[str, Any]) -> str:
    """Return the document as TOML. Raises TypeError with the path of a value that TOML cannot express."""
    return "\n".join(_lines(document, ())).strip() + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if path and (plain or not table):
        yield f"\n[{'.'.join(_key(each) for each in path)}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value, (*path, key))}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key))  # type: ignore[reportUnknownArgumentType]


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _text(key)


def _value(value: object, path: tuple[str, ...]) -> str:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(each, path) for each in value) + "]"  # type: ignore[reportUnknownVariableType]
    raise TypeError(f"containerd.config: {'.'.join(path)} is {type(value).__name__}; TOML has no such value here")


def _text(text: str) -> str:
    # TOML has JSON's escapes except surrogate pairs, so characters outside ASCII are not escaped
    return json.dumps(text, ensure_ascii=False)
