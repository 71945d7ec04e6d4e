"""The package's schema: what Pulumi's analyser reads from the argument types, completed from the models.

The analyser knows names and types. Defaults, units, allowed values, secrets and functions are added here.
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from pulumi.provider.experimental.util import camel_case

from components.package.function_schema import FUNCTIONS, TYPES
from components.spec import choices
from components.spec.units import FORMATS, QUANTITIES, allowed, unit
from components.stack_files.schema import stack_schema

CLUSTER = "mullion:index:MixedCluster"
"""Token of the cluster's component."""

CLUSTER_ARGS = "mullion:index:ClusterArgs"
"""Token of the type with the inputs of MixedCluster, for functions."""

SECRETS = ("kubeconfig",)
"""Outputs that Pulumi encrypts in the state and hides in its output, in every language."""

LISTED = (choices.Registry, choices.StorageDriver)
"""Enums that only lists have; the argument types name them as text (components/stack_files/arguments.py)."""


def completed(analysed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with defaults, allowed values, units, secrets and functions."""
    schema: dict[str, Any] = {**analysed}
    definitions: dict[str, Any] = stack_schema()["definitions"]
    cluster: dict[str, Any] = schema["resources"][CLUSTER]
    enums = {f"mullion:index:{each.__name__}": _enum(each) for each in LISTED}
    for name in SECRETS:
        cluster["properties"][name]["secret"] = True
    _document("ClusterSpec", cluster["inputProperties"], definitions)
    for token, kind in schema["types"].items():
        model = token.rpartition(":")[2].removesuffix("Args")
        if "properties" in kind:
            _document(model, kind["properties"], definitions)
    whole = {
        "description": "Inputs of MixedCluster.",
        "type": "object",
        "properties": cluster["inputProperties"],
        "required": cluster["requiredInputs"],
    }
    return {**schema, "types": {**schema["types"], **enums, CLUSTER_ARGS: whole, **TYPES}, "functions": FUNCTIONS}


def as_input(path: str) -> str:
    """Return the path of an input for the path of an option: `controlPlane.count` for `control_plane.count`.

    Names of pools and keys of labels stay, unless one is spelled like an option.
    """
    return re.sub(r"\w+", lambda word: camel_case(word[0]) if word[0] in _option_names() else word[0], path)


@cache
def _option_names() -> frozenset[str]:
    return frozenset(name for each in stack_schema()["definitions"].values() for name in each.get("properties", ()))


def _document(model: str, properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
    """Add default, allowed values and unit to the descriptions of a type's properties."""
    required = definitions[model].get("required", ())
    for name, option in definitions[model]["properties"].items():
        entry = properties[camel_case(name)]
        kind = _value(option, definitions)
        words = [entry["description"]]
        if name not in required and (default := _default(option, kind, entry["description"])):
            words.append(default)
        if (values := allowed(kind)) and not ("enum" in kind and kind.get("type") == "string"):
            words.append(f"Allowed: {values}.")
        if form := QUANTITIES.get(kind.get("pattern", "")) or FORMATS.get(kind.get("format", "")):
            words.append(f"Form: {form}.")
        if measure := unit(model, name):
            words.append(f"Unit: {measure}.")
        entry["description"] = " ".join(words)
        item = kind.get("items", {}).get("$ref", "").rsplit("/", 1)[-1]
        if item in {each.__name__ for each in LISTED}:
            entry["items"] = {"plain": True, "$ref": f"#/types/mullion:index:{item}"}


def _value(option: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an option's value: references followed, null left out."""
    for member in (*option.get("allOf", ()), *option.get("anyOf", ())):
        if member.get("type") != "null":
            return _value(member, definitions)
    if "$ref" in option:
        return dict(definitions[option["$ref"].rsplit("/", 1)[-1]])
    return dict(option)


def _default(option: Mapping[str, Any], kind: Mapping[str, Any], description: str) -> str:
    """Return the sentence about the default; empty for groups of options, whose options have their own."""
    if "Default" in description or "default" not in option or "properties" in kind:
        return ""
    value = option["default"]
    if value is None or value == [] or value == {}:
        return "Default: none."
    return f"Default: {str(value).lower() if isinstance(value, bool) else value}."


def _enum(kind: type[Enum]) -> dict[str, Any]:
    """Return an enum as the analyser would."""
    values = [{"name": member.name, "value": member.value} for member in kind]
    return {"type": "string", "description": " ".join((kind.__doc__ or "").split()), "enum": values}
