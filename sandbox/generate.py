"""Write each cloud's properties.json, the shapes of its resource types, from the installed Pulumi SDKs.

    python -m sandbox.generate

The provider does not import the SDK (that takes a second); a test compares properties.json with the SDK.
Shapes: `string`, `boolean`, `integer`, `number`, `asset`, `any`, `[shape]` a list, `{shape}` a map,
`#name` one of `objects`, `a|b` either. The shape of a required property ends in `!`.
"""

import collections.abc
import importlib
import inspect
import json
import typing
from typing import Any, Union, cast

import pulumi

from sandbox.clouds import CLOUDS

SCALARS: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "any"}


def resource_class(token: str) -> type[Any]:
    """Return the SDK's class of a token: `aws:ec2/vpc:Vpc` is pulumi_aws.ec2.Vpc."""
    provider, module, name = token.split(":")
    [sdk] = [part.sdk for part in CLOUDS.values() if part.provider == provider]
    return cast("type[Any]", getattr(importlib.import_module(f"{sdk}.{module.split('/')[0]}"), name))


def describe(tokens: collections.abc.Iterable[str]) -> dict[str, Any]:
    """Return inputs, outputs and nested objects of types, as in properties.json."""
    objects: dict[str, dict[str, str]] = {}
    resources = {token: _resource(resource_class(token), objects) for token in sorted(tokens)}
    return {"resources": resources, "objects": dict(sorted(objects.items()))}


def _resource(cls: type[Any], objects: dict[str, dict[str, str]]) -> dict[str, Any]:
    module, name = importlib.import_module(cls.__module__), cls.__name__
    # The SDK calls the arguments InitArgs where Args is the name of a nested object already.
    inputs = _properties(getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args"), objects)
    members = inspect.getmembers(cls, lambda member: isinstance(member, property))
    outputs = {_pulumi_name(cls, name) for name, _ in members if not name.startswith("pulumi_resource_")}
    return {"inputs": inputs, "outputs": sorted(outputs - set(inputs) - {"id", "urn"})}


def _pulumi_name(cls: type[Any], name: str) -> str:
    getter = cast("Any", inspect.getattr_static(cls, name)).fget
    return str(getattr(getter, "_pulumi_name", name))


def _properties(cls: type[Any], objects: dict[str, dict[str, str]]) -> dict[str, str]:
    signature = inspect.signature(cls.__init__)
    own = vars(importlib.import_module(cls.__module__))
    names = {"Output": pulumi.Output, "T": Any} | own
    # its own local names: get_type_hints caches, and another module may use the same name for another class
    hints = typing.get_type_hints(cls.__init__, names, {})
    rows: dict[str, str] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        required = "!" if parameter.default is inspect.Parameter.empty else ""
        rows[_pulumi_name(cls, name)] = _shape(hints[name], objects, own) + required
    return dict(sorted(rows.items()))


def _shape(hint: Any, objects: dict[str, dict[str, str]], own: dict[str, Any]) -> str:
    """Return the shape of a type hint. own: names of the hint's module; Python resolves equal hints of two modules
    once, for the first module, so classes are looked up again by name.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        return _union([argument for argument in arguments if argument is not type(None)], objects, own)
    if origin is collections.abc.Sequence:
        return f"[{_shape(arguments[0], objects, own)}]"
    if origin is collections.abc.Mapping:
        return f"{{{_shape(arguments[1], objects, own)}}}"
    if hint in SCALARS:
        return SCALARS[hint]
    return _object(own.get(hint.__name__, hint), objects)


def _union(members: list[Any], objects: dict[str, dict[str, str]], own: dict[str, Any]) -> str:
    """Return the plain member of Input[T], T | str of an enum, Asset | Archive, or an Args class and its dictionary."""
    plain = [
        member
        for member in members
        if typing.get_origin(member) is not collections.abc.Awaitable
        and getattr(typing.get_origin(member) or member, "__name__", "") not in ("Output", "Archive")
        and not typing.is_typeddict(member)
    ]
    return "|".join(sorted({_shape(member, objects, own) for member in plain}))


def _object(cls: type[Any], objects: dict[str, dict[str, str]]) -> str:
    if cls.__name__ == "Asset":
        return "asset"
    if issubclass(cls, str):  # an enumeration of the SDK
        return "string"
    name = f"{cls.__module__.split('.')[1]}/{cls.__name__.removesuffix('Args')}"
    if name not in objects:
        objects[name] = {}
        objects[name] = _properties(cls, objects)
    return f"#{name}"


def main() -> None:
    """Write the files of all clouds."""
    for name, part in CLOUDS.items():
        types = importlib.import_module(f"{part.package}.types")
        types.PROPERTIES.write_text(dumps(describe(types.TYPES)), encoding="utf-8")
        print(f"{name}: {types.PROPERTIES}")


def dumps(document: dict[str, Any]) -> str:
    """Return the file's text with one resource or object per line, for readable diffs of SDK versions."""
    sections: list[str] = []
    for section, rows in document.items():
        lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        sections.append(f"  {json.dumps(section)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


if __name__ == "__main__":
    main()
