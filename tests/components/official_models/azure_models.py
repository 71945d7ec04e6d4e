"""Judges bodies by the models of azure-mgmt-*, in the API versions that pulumi-azure-native sends.

A model says of each attribute its name in JSON, its type, whether it is required or read-only, and limits; its
docstring names the enum of allowed values. The operation's request says the same of names in the path.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args
from unittest import mock

from tests.components.official_models.limits import broken

KINDS: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float), "object": object}


@dataclass(frozen=True)
class Row:
    """A resource type's request. package: below azure.mgmt; path, body: values that the provider chooses."""

    package: str
    model: str
    operation: str
    path: tuple[str, ...] = ()
    body: tuple[tuple[str, str], ...] = ()


def faults(row: Row, inputs: dict[str, Any]) -> list[str]:
    """Return what the models say against a resource's inputs: "path: reason"."""
    builder = _builder(row)
    names = [name for name in inspect.signature(builder).parameters if name not in ("kwargs", "if_match")]
    taken = {_plain(name): name for name in names}
    path = {taken[_plain(key)]: value for key, value in inputs.items() if _plain(key) in taken}
    aside = {*taken, *map(_plain, row.path)}
    body = dict(row.body) | {key: value for key, value in inputs.items() if _plain(key) not in aside}
    missing = {_plain(name) for name in names} - {_plain(name) for name in (*path, *row.path)} - {"subscriptionid"}
    missing -= {_plain(name) for name in _optional(builder)}
    found = [f"{name}: the path of the request needs it" for name in sorted(missing)]
    if not missing:
        found += _path_faults(builder, {**dict.fromkeys(row.path, ""), "subscription_id": "", **path}, set(path))
    models = importlib.import_module(f"azure.mgmt.{row.package}.models")
    return found + list(_object(models, row.model, body, ""))


class _Limits:
    """Stands for the package's serializer, which is told the limits of each name and no longer judges them."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any, dict[str, Any]]] = []

    def url(self, name: str, value: Any, kind: str, **limits: Any) -> str:
        known = ("min_length", "max_length", "pattern")
        self.found.append((name, value, {key: limits[key] for key in known if key in limits}))
        return str(value)

    def query(self, name: str, value: Any, kind: str, **limits: Any) -> str:
        return str(value)

    header = query


def _path_faults(builder: Any, values: dict[str, Any], judged: set[str]) -> list[str]:
    """Return what the operation says against names in the path of its request."""
    limits, names = _Limits(), inspect.signature(builder).parameters
    with mock.patch.dict(builder.__globals__, {"_SERIALIZER": limits}):
        builder(**{name: value for name, value in values.items() if name in names})
    found: list[str] = []
    for name, value, rules in limits.found:
        if name not in judged:
            continue
        if not isinstance(value, str):
            found.append(f"{name}: {type(value).__name__}, not str")
        found += broken(value, name, **rules)
        found += [
            f"{name}: {value!r} is not one of {', '.join(member.value for member in kind)}"
            for kind in get_args(names[name].annotation)
            if isinstance(kind, type) and issubclass(kind, Enum) and value not in [member.value for member in kind]
        ]
    return found


def api_version(row: Row) -> str:
    """Return the version of the API that the package's operation calls."""
    source = inspect.getsource(_builder(row))
    return re.findall(r'_params\.pop\("api-version", "([\d-]+(?:preview)?)"\)', source)[0]


def path(row: Row) -> str:
    """Return the path of the package's operation, with `x` for each name, and `A` for the type of a record."""
    builder = _builder(row)
    values = {name: "A" if name == "record_type" else "x" for name in inspect.signature(builder).parameters}
    with mock.patch.dict(builder.__globals__, {"_SERIALIZER": _Limits()}):
        return str(builder(**{name: value for name, value in values.items() if name != "kwargs"}).url)


def _builder(row: Row) -> Any:
    module, _, name = row.operation.rpartition(".")
    return getattr(importlib.import_module(f"azure.mgmt.{row.package}.operations.{module}"), f"build_{name}_request")


def _optional(builder: Any) -> list[str]:
    return [name for name, each in inspect.signature(builder).parameters.items() if each.default is not each.empty]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


@cache
def _attributes(model: Any) -> dict[str, str]:
    """Return the attribute by each name that pulumi-azure-native gives it: that of JSON, or a renamed client's."""
    found: dict[str, str] = {}
    for name, row in model._attribute_map.items():
        sent = re.split(r"(?<!\\)\.", row["key"])[-1].replace("\\.", ".")
        read_only = model._validation.get(name, {}).get("readonly")
        if sent not in found or not read_only:
            found[sent] = name
        found.setdefault(_camel(name), name)
        if _plain(sent) != _plain(name):
            found[f"*{_plain(name)}"] = name
    return found


def _object(models: Any, kind: str, body: Any, path: str) -> Iterator[str]:
    model = _model(getattr(models, kind), body)
    if not isinstance(body, dict):
        yield f"{path}: {type(body).__name__}, not an object ({kind})"
        return
    attributes, seen = _attributes(model), set[str]()
    for key, value in body.items():
        at = f"{path}.{key}".lstrip(".")
        name = attributes.get(key) or attributes.get(f"*{_plain(key)}")
        if name is None:
            yield f"{at}: {kind} has no such property"
            continue
        seen.add(name)
        rules = model._validation.get(name, {})
        if rules.get("readonly"):
            yield f"{at}: read-only"
        yield from _value(models, model, name, value, at)
    for name, rules in model._validation.items():
        if rules.get("required") and not rules.get("readonly") and not rules.get("constant") and name not in seen:
            sent = next(given for given, attribute in attributes.items() if attribute == name)
            yield f"{path}.{sent}: required".lstrip(".")


def _model(model: Any, body: Any) -> Any:
    """Return the model that the discriminator in the body chooses."""
    for discriminator, kinds in getattr(model, "_subtype_map", {}).items():
        chosen = kinds.get(body.get(model._attribute_map[discriminator]["key"]))
        if chosen:
            return getattr(importlib.import_module(model.__module__), chosen)
    return model


def _value(models: Any, model: Any, name: str, value: Any, at: str) -> Iterator[str]:
    kind = model._attribute_map[name]["type"]
    rules = model._validation.get(name, {})
    limits = {limit: rules[limit] for limit in ("min_length", "max_length", "pattern") if limit in rules}
    limits |= {"least": rules.get("minimum"), "most": rules.get("maximum")}
    if kind.startswith("{") and isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = {each: {} for each in value}  # pulumi-azure-native takes a list where values are empty
    yield from _typed(models, kind, value, at, limits)
    if (enum := _enum(model, name)) is None:
        return
    allowed = [member.value for member in getattr(models, enum)]
    for each in value if isinstance(value, list) else [value]:
        if each not in allowed:
            yield f"{at}: {each!r} is not one of {', '.join(allowed)}"


@cache
def _enum(model: Any, name: str) -> str | None:
    """Return the enum of an attribute, which only the docstring names."""
    documented = "\n".join(each.__doc__ or "" for each in model.__mro__)
    found = re.search(rf":vartype {name}: (?:list\[)?str or\s+~[\w.]+\.(\w+)", documented)
    return found[1] if found else None


def _typed(models: Any, kind: str, value: Any, at: str, limits: dict[str, Any]) -> Iterator[str]:
    if kind.startswith(("[", "{")):
        wanted = list if kind.startswith("[") else dict
        if not isinstance(value, wanted):
            yield f"{at}: {type(value).__name__}, not {kind}"
            return
        yield from broken(value, at, **limits)
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        for index, each in pairs:
            yield from _typed(models, kind[1:-1], each, f"{at}[{index}]", {})
    elif kind in KINDS:
        wrong = not isinstance(value, KINDS[kind]) or (kind in ("int", "float") and isinstance(value, bool))
        if wrong:
            yield f"{at}: {type(value).__name__}, not {kind}"
        else:
            yield from broken(value, at, **limits)
    elif hasattr(models, kind):
        yield from _object(models, kind, value, at)
    else:
        yield f"{at}: the judge does not know the type {kind}"
