"""Names and types of the component package, one in each line, and which of them a change breaks.

`tests/golden/package.txt` holds the lines of the last landing.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def lines(schema: Mapping[str, Any]) -> list[str]:
    """Return the lines of a schema, sorted: a path and what it is, such as `in PoolArgs.count optional integer`."""
    return sorted({*_resources(schema), *_types(schema), *_functions(schema)})


def breaking(before: list[str], after: list[str]) -> list[str]:
    """Return the paths whose change breaks programs: removed or retyped ones, and new inputs that are required."""
    old, new = (dict(_split(each) for each in listed) for listed in (before, after))
    lost = {path for path, kind in old.items() if not _still(kind, new.get(path, ""))}
    owners = {path.rpartition(".")[0] for path in old}
    demanded = {path for path, kind in new.items() if path not in old and kind.startswith("required")}
    return sorted(lost | {path for path in demanded if path.rpartition(".")[0] in owners})


def _still(old: str, new: str) -> bool:
    """Return whether programs for the old kind work with the new one: it is the same, or no longer required."""
    return new in (old, old.replace("required ", "optional ", 1))


def _split(line: str) -> tuple[str, str]:
    direction, path, kind = line.split(" ", 2)
    return f"{direction} {path}", kind


def _resources(schema: Mapping[str, Any]) -> Iterator[str]:
    for token, each in schema["resources"].items():
        yield f"resource {token} component"
        yield from _inputs(token, each["inputProperties"], each.get("requiredInputs", ()))
        yield from _outputs(token, each["properties"])


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    for token, each in schema["types"].items():
        yield f"type {token} {each['type']}"
        yield from _inputs(token, each.get("properties", {}), each.get("required", ()))
        yield from (f"value {token}.{value['name']} {value['value']}" for value in each.get("enum", ()))


def _functions(schema: Mapping[str, Any]) -> Iterator[str]:
    for token, each in schema.get("functions", {}).items():
        yield f"function {token} function"
        yield from _inputs(token, each["inputs"]["properties"], each["inputs"].get("required", ()))
        yield from _outputs(token, each["outputs"]["properties"])


def _inputs(token: str, properties: Mapping[str, Any], required: Any) -> Iterator[str]:
    for name, each in properties.items():
        yield f"in {token}.{name} {'required' if name in required else 'optional'} {_kind(each)}"


def _outputs(token: str, properties: Mapping[str, Any]) -> Iterator[str]:
    for name, each in properties.items():
        yield f"out {token}.{name} {'secret ' if each.get('secret') else ''}{_kind(each)}"


def _kind(each: Mapping[str, Any]) -> str:
    if "$ref" in each:
        return each["$ref"].removeprefix("#/types/")
    inner = each.get("items") or each.get("additionalProperties")
    return f"{each['type']} of {_kind(inner)}" if inner else each["type"]
