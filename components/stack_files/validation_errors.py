"""pydantic's errors as problems, in the words of the stack file."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, ip_interface
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from components import releases
from components.catalogue import artifacts
from components.checks.check import Path
from components.spec.descriptions import descriptions
from components.spec.form import FORMS
from components.spec.models import ClusterSpec, OperatingSystem
from components.spec.report import Problem
from components.spec.wording import known_words, nearest, shown, yaml_text
from components.stack_files.other_tools import ELSEWHERE, OTHER_NAMES, normalised

BOUNDS = {
    "greater_than_equal": ("less than", "ge"),
    "less_than_equal": ("more than", "le"),
    "greater_than": ("not more than", "gt"),
    "less_than": ("not less than", "lt"),
}
"""pydantic's error types of numbers out of bounds: words, and key of the bound in the error's context."""

SCALARS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    IPv4Network: "an IPv4 range such as 10.20.0.0/16",
    IPv4Address: "an IPv4 address such as 10.96.0.10",
}


def explain(path: Path, failure: ErrorDetails) -> Problem:
    """Return one validation error as a problem at this path of the spec."""
    kind, value = failure["type"], failure["input"]
    where, key = ".".join(path) or "mullion:cluster", path[-1] if path else "mullion:cluster"
    annotation = annotation_at(path)
    if failure["loc"][-1:] == ("[key]",):
        return _wrong_map_key(path)
    if kind == "extra_forbidden":
        return FORMS["unknown-key"].problem(where, key=key, fix=instead(path))
    if kind == "missing":
        return FORMS["missing-key"].problem(where, key=key, expected=expected(path))
    if annotation is str and isinstance(value, int | float | date):
        text = yaml_text(value)
        quoted = _version(text) if path == ("kubernetes",) else f'it in quotes: "{_moment(path, value, text)}"'
        return FORMS["value-unquoted"].problem(where, value=text, kind=_yaml_kind(value), expected=quoted)
    if path[-2:-1] == ("taints",) and isinstance(value, Mapping):
        taint = _taint(cast(Mapping[str, Any], value))
        return FORMS["wrong-type"].problem(where, value=shown(cast(Any, value)), expected=taint)
    if kind.startswith("ip_") and (better := _address(where, value)):
        return better
    if kind.endswith(("_type", "_parsing")) or kind == "int_from_float":
        return FORMS["wrong-type"].problem(where, value=shown(value), expected=expected(path))
    reason, _, fix = _reason(path, failure, value).partition("; write ")
    return FORMS["wrong-value"].problem(where, value=shown(value), reason=reason, expected=fix or expected(path, value))


def _wrong_map_key(path: Path) -> Problem:
    """Return the problem of a map's key: an operating system of `images`, a registry of `mirrors`, or an image."""
    if path[:2] == ("artifacts", "images"):
        fix = "write a complete name as registry/path:tag, such as registry.k8s.io/pause:3.10, without a digest"
        return FORMS["unknown-key"].problem(".".join(path[:3]), key=path[2], fix=fix)
    if path[0] == "images":
        systems = [system.value for system in OperatingSystem]
        return FORMS["unknown-key"].problem(".".join(path), key=path[-1], fix=known_words(path[-1], systems))
    fix = "write a registry's host such as registry.k8s.io or registry.example.com:5000, or * for every registry"
    return FORMS["unknown-key"].problem(".".join(path), key=path[-1], fix=fix)


def instead(path: Path) -> str:
    """Return what to write instead of an unknown key: the nearest option with its full path.

    Looks at the names of other tools, then at the options of the same place, then at all others.
    """
    *place, key = path
    options, word = _fields(tuple(place)), normalised(key)
    other = OTHER_NAMES.get(word) or OTHER_NAMES.get(nearest(word, list(OTHER_NAMES), cutoff=0.85) or "")
    target = next((option for option in options if normalised(option) == word), other)
    above = () if place[:2] == ["artifacts", "entries"] else place  # an entry may stand in a file instead of the spec
    if target in options:
        return f"write {'.'.join((*above, target))}"
    if word in ELSEWHERE:
        return ELSEWHERE[word]
    paths = list(_paths(ClusterSpec, ()))
    near = None if target or key in (option[-1] for option in paths) else nearest(key, options)
    if near:
        return f"write {'.'.join((*above, near))}, or remove it"
    target = target or nearest(key, [option[-1] for option in paths], cutoff=0.8)
    places = [_named(option, path) for option in paths if option[-1] == target]
    if not places:
        return known_words(key, options)
    closest = max(_shared(option, path) for option in places)
    texts = [".".join(option) for option in places if _shared(option, path) == closest][:3]
    return f"{'move it to' if target == key else 'write'} {' or '.join(texts)}"


def _named(option: Path, path: Path) -> Path:
    """Return an option's path with the pool's name from `path` where both are of one pool."""
    same = option[:2] == ("pools", "<name>") and path[:1] == ("pools",) and len(path) > 2
    return (*path[:2], *option[2:]) if same else option


def _shared(option: Path, path: Path) -> int:
    """Return how many keys two paths have in common, from the top."""
    return next((depth for depth, pair in enumerate(zip(option, path, strict=False)) if pair[0] != pair[1]), 0)


def _taint(written: Mapping[str, Any]) -> str:
    """Return a taint that was written as an object, as Kubernetes has it, in the form of the spec."""
    key, effect = written.get("key"), written.get("effect", "NoSchedule")
    if not isinstance(key, str):
        return "key=value:Effect, such as os=windows:NoSchedule"
    value = f"={yaml_text(written['value'])}" if written.get("value") is not None else ""
    return f"{key}{value}:{effect}"


def _version(written: str = "") -> str:
    """Return the hint for `kubernetes`: the newest patch of the minor that was written if supported, else of all."""
    alive = [minor for minor in releases.supported_minors() if not releases.ended(releases.release(minor).end_of_life)]
    patches = releases.in_order(artifacts.versions("kubernetes-node"))
    meant = re.match(r"v?(\d+\.\d+)", written)
    same = [patch for patch in patches if meant and releases.minor(patch) == meant[1] in alive]
    return f'the version with its patch, in quotes: "{(same or patches)[-1]}"'


def _paths(model: type[BaseModel], above: Path) -> Iterator[Path]:
    """Yield the path of every option of a model; `<name>` stands for the keys of a map."""
    for name, field in model.model_fields.items():
        yield (*above, name)
        inner = _bare(field.annotation)
        keys = ("<name>",) if get_origin(inner) is dict else ()
        inner = _bare(get_args(inner)[-1]) if keys else inner
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _paths(inner, (*above, name, *keys))


def annotation_at(path: Path) -> Any:
    """Return the type of the option at a path of the spec, without `None`; None where the spec has no option."""
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


def expected(path: Path, written: object = None) -> str:
    """Return what may be written at a path of the spec. written: the wrong value."""
    if path == ("kubernetes",):
        return _version(str(written))
    annotation = annotation_at(path)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(each.value for each in annotation)
    if get_origin(annotation) is list:
        return "a list: [...]"
    if get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "keys and values: {key: value}"
    meaning = _meaning(path)
    words = f"{SCALARS.get(annotation, 'another value' if meaning else 'a value')}{_limits(path)}"
    return f"{words} ({meaning})" if meaning else words


def _limits(path: Path) -> str:
    """Return the least and the greatest number of an option, in words; empty where it has none, or a list of values."""
    model = annotation_at(path[:-1])
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or path[-1] not in model.model_fields:
        return ""
    field = model.model_fields[path[-1]]
    if field.json_schema_extra:
        return ""
    least, most = (
        next((str(getattr(limit, key)) for limit in field.metadata if hasattr(limit, key)), "") for key in ("ge", "le")
    )
    if least and most:
        return f" from {least} to {most}"
    return f" of {least} or more" if least else f" of at most {most}" if most else ""


def _bare(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    return _bare(get_args(annotation)[0]) if hasattr(annotation, "__metadata__") else annotation


def _fields(path: Path) -> list[str]:
    model = annotation_at(path)
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return list(cast(type[BaseModel], model).model_fields) if is_model else []


def _meaning(path: Path) -> str:
    """Return the option's description."""
    model = annotation_at(path[:-1]) if path else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or path[-1] not in model.model_fields:
        return ""
    return descriptions(model).get(path[-1], "").rstrip(".")


def _moment(path: Path, value: Any, text: str) -> str:
    """Return a date as `expires` takes it, with a time of day; any other value as it was written."""
    is_day = path == ("expires",) and isinstance(value, date) and not isinstance(value, datetime)
    return f"{text}T00:00:00Z" if is_day else text


def _yaml_kind(value: float | date) -> str:
    if isinstance(value, bool):
        return "truth value"
    return "date" if isinstance(value, date) else "number"


def _address(where: str, value: Any) -> Problem | None:
    """Return the problem of an IPv6 address or of a range with host bits; None for any other text."""
    try:
        written = ip_interface(value)
    except ValueError:
        return None
    if written.version != 4:
        return FORMS["ipv6"].problem(where, value=shown(value))
    if written.ip != written.network.network_address:
        return FORMS["host-bits"].problem(where, value=shown(value), network=written.network)
    return None


def _reason(path: Path, failure: ErrorDetails, value: Any) -> str:
    """Return why a value of the right type does not fit; after "; write " what fits."""
    kind, context = failure["type"], failure.get("ctx", {})
    if kind == "enum":
        choice = annotation_at(path)
        words = [member.value for member in choice] if isinstance(choice, type) and issubclass(choice, Enum) else []
        near = nearest(str(value), words)
        return f"did you mean {near}?" if near else "it is none of the possible values"
    if "error" in context:
        return str(context["error"]).replace(repr(value), "it")
    if kind in BOUNDS:
        word, key = BOUNDS[kind]
        return f"it is {word} {context[key]}"
    if kind == "string_too_short":
        return "it is empty"
    if kind == "string_pattern_mismatch":
        return "it is no version with its patch"
    return failure["msg"][0].lower() + failure["msg"][1:]
