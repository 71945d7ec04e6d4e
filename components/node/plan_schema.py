"""JSON schema (draft 2020-12) of plan.json, generated from the kinds table. `make generate` writes it to docs/.

It does not express that the names of a plan's steps are unique.
"""

from typing import Any

from components.node.kinds import KINDS, REFERENCES, TUNING
from components.node.kinds.model import Kind, Type
from components.node.kinds.references import DOCUMENTS
from components.node.plan import EGRESS, FORMAT, Scope
from components.spec.choices import OperatingSystem

Schema = dict[str, Any]

_SYSTEMS = ("linux", "windows")
_REFERENCE: Schema = {"type": "object", "required": ["ref"], "maxProperties": 1}
"""Matches objects with the form of a reference, whether it exists or not."""
_TAINT = {"key": {"type": "string"}, "value": {"type": "string"}, "effect": {"type": "string"}}


def schema() -> Schema:
    """Return the whole schema."""
    phases = {system: {"items": {"$ref": f"#/$defs/{system}-phase"}} for system in _SYSTEMS}
    registration = {
        name.partition(".")[2]: _registration(name) for name in REFERENCES if name.startswith("registration.")
    }
    members: Schema = {
        "format": {"const": FORMAT},
        "role": {"enum": ["control-plane", "worker"]},
        "pool": {"type": "string", "minLength": 1},
        "os": {"enum": [each.value for each in OperatingSystem]},
        "registration": _object(registration),
        "egress": EGRESS,
        "kubernetes": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "phases": {"type": "array"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Node plan of Mullion",
        "description": "plan.json: what a machine becomes. docs/node-plan.md explains the kinds of step.",
        **_object(members, optional=("egress", "kubernetes")),
        "if": {"properties": {"os": {"pattern": "^windows"}}},
        "then": {"properties": {"phases": phases["windows"]}},
        "else": {"properties": {"phases": phases["linux"]}},
        "$defs": _definitions(),
    }


def _registration(name: str) -> Schema:
    return _list(_object(_TAINT)) if name in DOCUMENTS else {"type": "string"}


def _definitions() -> Schema:
    names = sorted(REFERENCES)
    return {
        "reference": _object({"ref": {"enum": names}}),
        "text-reference": _object({"ref": {"enum": [name for name in names if name not in DOCUMENTS]}}),
        "document": _document("document", {"$ref": "#/$defs/reference"}),
        "no-reference": _document("no-reference", False),
        **{f"{system}-phase": _phase(system) for system in _SYSTEMS},
        **{f"{system}-step": _step(system) for system in _SYSTEMS},
        **{name: _kind(name, kind) for name, kind in KINDS.items()},
    }


def _document(name: str, then: Schema | bool) -> Schema:
    """Return the schema of any JSON value; `then` applies to objects with the form of a reference."""
    inner = {"$ref": f"#/$defs/{name}"}
    return {"if": _REFERENCE, "then": then, "else": {"items": inner, "additionalProperties": inner}}


def _phase(system: str) -> Schema:
    baked = {"kind": {"enum": [name for name, kind in KINDS.items() if kind.image]}}
    image = _list({"$ref": "#/$defs/no-reference", "properties": baked})
    members: Schema = {
        "name": {"type": "string", "minLength": 1},
        "scope": {"enum": [each.value for each in Scope]},
        "reports": {"enum": ["registered"]},
        "steps": _list({"$ref": f"#/$defs/{system}-step"}),
    }
    is_image = {"properties": {"scope": {"const": Scope.IMAGE.value}}}
    return {**_object(members, optional=("reports",)), "if": is_image, "then": {"properties": {"steps": image}}}


def _step(system: str) -> Schema:
    """Return the schema of a step whose kind and fields exist on the system."""
    own = [name for name, kind in KINDS.items() if system in kind.systems]
    kinds = [{"if": _is("kind", name), "then": {"$ref": f"#/$defs/{name}"}} for name in own]
    foreign = [
        {"if": _is("kind", name), "then": {"properties": {field: False}}}
        for name in own
        for field, rule in KINDS[name].fields.items()
        if system not in rule.systems
    ]
    return {"type": "object", "properties": {"kind": {"enum": own}}, "required": ["kind"], "allOf": [*kinds, *foreign]}


def _kind(name: str, kind: Kind) -> Schema:
    fields = {**kind.fields, **TUNING}
    members: Schema = {
        "kind": {"const": name},
        "name": {"type": "string", "minLength": 1},
        **{each: {"description": field.meaning, **_open(field.type)} for each, field in fields.items()},
    }
    optional = [each for each, field in fields.items() if not field.required]
    whens = [
        {
            "if": _is(when.field, when.value),
            "then": {"properties": {each: _open(type_) for each, type_ in when.types.items()}},
        }
        for when in kind.whens
    ]
    definition = {"description": kind.meaning, **_object(members, optional=optional)}
    return {**definition, "allOf": whens} if whens else definition


def _is(field: str, value: str | bool | None) -> Schema:
    """Return a schema that matches if the field has the value, or if the field is absent (None)."""
    if value is None:
        return {"not": {"required": [field]}}
    return {"required": [field], "properties": {field: {"const": value}}}


def _open(type_: Type) -> Schema:
    """Return the type with references allowed instead of strings (not of enums) and in documents."""
    if not type_:
        return {"$ref": "#/$defs/document"}
    name = type_.get("type")
    if name == "string":
        return {"anyOf": [type_, {"$ref": "#/$defs/text-reference"}]}
    if name == "array":
        first = {"prefixItems": [_open(each) for each in type_["prefixItems"]]} if "prefixItems" in type_ else {}
        items = type_.get("items", {})
        return {**type_, **first, "items": items if isinstance(items, bool) else _open(items)}
    if name == "object":
        others = type_["additionalProperties"]
        members = {each: _open(inner) for each, inner in type_.get("properties", {}).items()}
        opened = {"properties": members, "additionalProperties": others if isinstance(others, bool) else _open(others)}
        return {**type_, **opened, "not": _REFERENCE}
    return type_


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(members: Schema, optional: tuple[str, ...] | list[str] = ()) -> Schema:
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}
