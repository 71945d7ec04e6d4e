"""pydantic's errors, said for the person who wrote the stack file."""

from collections.abc import Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, ip_interface
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from components.checks.check import Path
from components.spec.form import FORMS
from components.spec.models import ClusterSpec, OperatingSystem
from components.spec.report import Problem
from components.spec.wording import known_words, nearest, shown

SCALARS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    IPv4Network: "an IPv4 range such as 10.20.0.0/16",
    IPv4Address: "an IPv4 address such as 10.96.0.10",
}

VERSION = 'the version with its patch, in quotes: "1.32.13"'


def explain(path: Path, failure: ErrorDetails) -> Problem:
    """One validation error as a problem."""
    kind, value = failure["type"], failure["input"]
    where, key = ".".join(path) or "mullion:cluster", path[-1] if path else "mullion:cluster"
    annotation = annotation_at(path)
    if failure["loc"][-1:] == ("[key]",):
        known = [each.value for each in OperatingSystem]
        return FORMS["unknown-key"].problem(where, key=key, fix=known_words(key, known))
    if kind == "extra_forbidden":
        return FORMS["unknown-key"].problem(where, key=key, fix=_instead(key, _fields(path[:-1])))
    if kind == "missing":
        return FORMS["missing-key"].problem(where, key=key, expected=expected(path))
    if isinstance(value, int | float) and annotation is str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        quoted = VERSION if path == ("kubernetes",) else f'it in quotes: "{text}"'
        return FORMS["value-unquoted"].problem(where, value=text, kind=_yaml_kind(value), expected=quoted)
    if kind.startswith("ip_") and (better := _address(where, value)):
        return better
    if kind.endswith(("_type", "_parsing")) or kind == "int_from_float":
        return FORMS["wrong-type"].problem(where, value=shown(value), expected=expected(path))
    reason, _, instead = _reason(failure, value).partition("; write ")
    return FORMS["wrong-value"].problem(where, value=shown(value), reason=reason, expected=instead or expected(path))


def _instead(key: str, known: list[str]) -> str:
    """For a known option in the wrong place, where it belongs; else the nearest option of this place."""
    places = [".".join(path) for path in _paths(ClusterSpec, ()) if path[-1] == key]
    if places and not nearest(key, known):
        return f"move it to {' or '.join(places[:3])}"
    return known_words(key, known)


def _paths(model: type[BaseModel], above: Path) -> Iterator[Path]:
    for name, field in model.model_fields.items():
        yield (*above, name)
        inner = _bare(field.annotation)
        each = ("<name>",) if get_origin(inner) is dict else ()
        inner = _bare(get_args(inner)[-1]) if each else inner
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _paths(inner, (*above, name, *each))


def annotation_at(path: Path) -> Any:
    """The type of what stands at a path of the spec, without `None`; None where the spec has nothing."""
    current: Any = ClusterSpec
    for key in path:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(key)
            current = _bare(field.annotation) if field else None
        elif get_origin(current) in (dict, list):
            current = _bare(get_args(current)[-1])
        else:
            return None
    return current


def expected(path: Path) -> str:
    """What may be written at a path."""
    if path == ("kubernetes",):
        return VERSION
    annotation = annotation_at(path)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(each.value for each in annotation)
    if get_origin(annotation) is list:
        return "a list: [...]"
    if get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "keys and values: {key: value}"
    meaning = _meaning(path)
    return f"{SCALARS.get(annotation, 'another value')} ({meaning})" if meaning else SCALARS.get(annotation, "a value")


def _bare(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    return _bare(get_args(annotation)[0]) if hasattr(annotation, "__metadata__") else annotation


def _fields(path: Path) -> list[str]:
    model = annotation_at(path)
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return list(cast(type[BaseModel], model).model_fields) if is_model else []


def _meaning(path: Path) -> str:
    """The field's own words."""
    model = annotation_at(path[:-1]) if path else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or path[-1] not in model.model_fields:
        return ""
    return (model.model_fields[path[-1]].description or "").rstrip(".")


def _yaml_kind(value: float | bool) -> str:
    return "truth value" if isinstance(value, bool) else "number"


def _address(where: str, value: Any) -> Problem | None:
    """Ranges that miss the mark in a known way."""
    try:
        written = ip_interface(value)
    except ValueError:
        return None
    if written.version != 4:
        return FORMS["ipv6"].problem(where, value=shown(value))
    if written.ip != written.network.network_address:
        return FORMS["host-bits"].problem(where, value=shown(value), network=written.network)
    return None


def _reason(failure: ErrorDetails, value: Any) -> str:
    context = failure.get("ctx", {})
    if failure["type"] == "enum":
        words = [word.strip(" '") for word in str(context.get("expected", "")).replace(" or ", ",").split(",")]
        near = nearest(str(value), words)
        return f"did you mean {near}?" if near else "no known value"
    if "error" in context:
        return str(context["error"]).replace(repr(value), "it")
    if failure["type"] == "string_pattern_mismatch":
        return "it does not have the form of a version with its patch"
    return failure["msg"][0].lower() + failure["msg"][1:]
