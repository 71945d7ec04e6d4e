"""Render `cluster_args.py`, `option_args.py` and `pod_args.py`: the models as TypedDicts, for Pulumi's schema analyser.

The analyser reads no pydantic models, unions or dataclasses; enums must be `(str, Enum)`, maps must have `str` keys,
and addresses become text.
"""

from enum import Enum
from ipaddress import IPv4Address, IPv4Network
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from components.spec import budget, existing, gmsa, ingress, pod_identity
from components.spec import models as cluster_models
from components.spec.descriptions import descriptions
from components.spec.models import ClusterSpec
from components.stack_files.schema import FILLED

HEADER = '''"""What a user gives `MixedCluster`: {part} as TypedDicts. Written by `make generate`."""
{any}
from typing_extensions import NotRequired, TypedDict
'''
"""First lines of the module. Python 3.10 has no NotRequired in typing, so it comes from typing_extensions."""

OF_CLUSTER = frozenset(each.__name__ for each in (cluster_models, existing, budget))
"""Modules whose models are in cluster_args.py."""
OF_PODS = frozenset(each.__name__ for each in (gmsa, ingress, pod_identity))
"""Modules whose models are in pod_args.py; those of all others are in option_args.py."""

LINE = 120
"""Longest line of the module; longer imports take a line each name."""

SCALARS: dict[Any, str] = {
    str: "str",
    int: "int",
    bool: "bool",
    IPv4Network: "str",
    IPv4Address: "str",
    Any: "Any",
}


def cluster_args() -> str:
    """Return the text of cluster_args.py."""
    models = _of("cluster_args")
    used = {leaf for model in models for field in model.model_fields.values() for leaf in _leaves(field.annotation)}
    others = {
        module: [args_name(each) for each in _of(module) if each in used] for module in ("option_args", "pod_args")
    }
    imports = [_import(f"components.{module}", names) for module, names in others.items()]
    return _module("the spec's models", models, imports)


def option_args() -> str:
    """Return the text of option_args.py, whose types those of cluster_args.py use."""
    return _module("models of groups of options", _of("option_args"), [])


def pod_args() -> str:
    """Return the text of pod_args.py, whose types those of cluster_args.py use."""
    return _module("identities of pods and ingress", _of("pod_args"), [])


def _module(part: str, models: list[type[BaseModel]], imports: list[str]) -> str:
    enums = list({name for model in models for name in _enums(model)})
    classes = [_class(model) for model in models]
    typing = "\nfrom typing import Any\n" if any("Any]" in text for text in classes) else ""
    header = HEADER.format(part=part, any=typing)
    return "\n".join([header, *imports, _import(cluster_models.__name__, enums), "", *classes])


def _import(module: str, names: list[str]) -> str:
    names = sorted(names, key=str.lower)
    line = f"from {module} import {', '.join(names)}"
    lines = [line] if len(line) <= LINE else [f"from {module} import (", *(f"    {name}," for name in names), ")"]
    return "\n".join(lines)


def module_of(model: type[BaseModel]) -> str:
    """Return the generated module, in components/, that has the type of a model."""
    module = model.__module__
    return "cluster_args" if module in OF_CLUSTER else "pod_args" if module in OF_PODS else "option_args"


def _of(module: str) -> list[type[BaseModel]]:
    """Return the models of a generated module."""
    return [model for model in _models(ClusterSpec) if module_of(model) == module]


def args_name(model: type[BaseModel]) -> str:
    """Return the TypedDict's name of a model: ClusterSpec -> ClusterArgs, Pool -> PoolArgs."""
    return f"{model.__name__.removesuffix('Spec')}Args"


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the models that a model uses, and the model last, so that each class is defined before its use."""
    models: list[type[BaseModel]] = []
    for field in model.model_fields.values():
        for leaf in _leaves(field.annotation):
            if _is(leaf, BaseModel):
                models += [inner for inner in _models(leaf) if inner not in models]
    return [*models, model]


def _enums(model: type[BaseModel]) -> list[str]:
    annotations = [field.annotation for field in model.model_fields.values()]
    leaves = [leaf for each in annotations if get_origin(each) is not list for leaf in _values(each)]
    return [leaf.__name__ for leaf in leaves if _is(leaf, Enum)]


def _class(model: type[BaseModel]) -> str:
    lines = ["", f"class {args_name(model)}(TypedDict):", f'    """{model.__doc__}"""', ""]
    for name, field in model.model_fields.items():
        kind = _annotation(field.annotation)
        required = field.is_required() and name not in FILLED.get(model.__name__, ())
        lines.append(f"    {name}: {kind if required else f'NotRequired[{kind}]'}")
        lines.append(f'    """{" ".join(descriptions(model)[name].split())}"""')
    return "\n".join([*lines, ""])


def _annotation(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        inner = [each for each in args if each is not NoneType]
        return _annotation(inner[0]) if len(inner) == 1 else "Any"
    if hasattr(annotation, "__metadata__"):
        return _annotation(args[0])
    if origin is list:  # Pulumi's host reads an enum's value in a list as an empty object (3.272), so it is text
        return f"list[{'str' if _is(args[0], Enum) else _annotation(args[0])}]"
    if origin is dict:
        return f"dict[str, {_annotation(args[1])}]"
    if _is(annotation, BaseModel):
        return args_name(annotation)
    return annotation.__name__ if _is(annotation, Enum) else SCALARS[annotation]


def _leaves(annotation: Any) -> list[Any]:
    args = get_args(annotation)
    return [leaf for each in args for leaf in _leaves(each)] if args else [annotation]


def _values(annotation: Any) -> list[Any]:
    """Return the leaves of a type without the keys of maps, which become text."""
    args = get_args(annotation)
    if get_origin(annotation) is dict:
        args = args[1:]
    return [leaf for each in args for leaf in _values(each)] if args else [annotation]


def _is(candidate: Any, base: type) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, base)
