"""Judges requests by botocore: parameters, types, enums and limits of the APIs, as AWS publishes them."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

from tests.components.official_models.limits import broken

UNICODE = {r"\p{L}": "A-Za-z\u00aa-\U0010ffff", r"\p{N}": "0-9", r"\p{Z}": " \u00a0\u2000-\u200a\u3000"}
"""Classes of Unicode that patterns name and Python lacks; exact for ASCII, which the components write."""

KINDS: dict[str, Any] = {
    **dict.fromkeys(("string", "character"), str),
    **dict.fromkeys(("integer", "long"), int),
    **dict.fromkeys(("float", "double"), (int, float)),
    "boolean": bool,
    "blob": (bytes, str),
    "timestamp": str,
}


@lru_cache
def _service(name: str) -> Any:
    return botocore.session.Session().get_service_model(name)


def parameters(operation: str) -> Shape:
    """Return the parameters of "ec2/RunInstances"."""
    service, _, name = operation.partition("/")
    return _service(service).operation_model(name).input_shape


def faults(operation: str, values: dict[str, Any]) -> list[str]:
    """Return what the model says against a request: "path: reason"."""
    shape = parameters(operation)
    found = list(_value(shape, values, ""))
    own = ParamValidator().validate(values, shape)
    if own.has_errors() and not found:
        found.append(f"{operation}: {own.generate_report()}")
    return found


def named(shape: Any, value: Any) -> Any:
    """Return a value with the names of the API instead of the provider's: vpcId becomes VpcId.

    Names that the API does not have stay, so that `faults` finds them.
    """
    if shape.type_name == "structure" and isinstance(value, dict):
        members = {name.lower(): name for name in shape.members}
        names = {key: key if key in shape.members else members.get(key.lower(), key) for key in value}
        return {
            names[key]: named(shape.members[names[key]], each) if names[key] in shape.members else each
            for key, each in value.items()
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [named(shape.member, each) for each in value]
    return value


def _value(shape: Any, value: Any, at: str) -> Iterator[str]:
    kind = shape.type_name
    if kind == "structure":
        yield from _structure(shape, value, at)
    elif kind == "list":
        if not isinstance(value, list):
            yield f"{at}: {type(value).__name__}, not a list"
            return
        yield from _limits(shape, value, at)
        for index, each in enumerate(value):
            yield from _value(shape.member, each, f"{at}[{index}]")
    elif kind == "map":
        if not isinstance(value, dict):
            yield f"{at}: {type(value).__name__}, not a map"
            return
        for key, each in value.items():
            yield from _value(shape.value, each, f"{at}.{key}")
    elif not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{at}: {type(value).__name__}, not {kind}"
    else:
        enum = shape.metadata.get("enum")
        if enum and value not in enum:
            yield f"{at}: {value!r} is not one of {', '.join(enum)}"
        yield from _limits(shape, value, at)


def _structure(shape: Any, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: {type(value).__name__}, not an object ({shape.name})"
        return
    for key, each in value.items():
        path = f"{at}.{key}".lstrip(".")
        if key in shape.members:
            yield from _value(shape.members[key], each, path)
        else:
            yield f"{path}: {shape.name} has no such parameter"
    for key in shape.required_members:
        if key not in value:
            yield f"{at}.{key}: required".lstrip(".")


def _limits(shape: Any, value: Any, at: str) -> Iterator[str]:
    rules = shape.metadata
    least, most = rules.get("min"), rules.get("max")
    if isinstance(value, (int, float)):
        yield from broken(value, at, least=least, most=most)
        return
    pattern = rules.get("pattern")
    for name, members in UNICODE.items():
        pattern = pattern.replace(name, members) if pattern else None
    try:
        re.compile(pattern or "")
    except re.error as unread:
        yield f"{at}: the judge cannot read the pattern {pattern}: {unread}"
        return
    yield from broken(value, at, min_length=least, max_length=most, pattern=pattern)
