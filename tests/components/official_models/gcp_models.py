"""Judges bodies by Google's own descriptions of its APIs, and by the messages of its Python clients where it has them.

A discovery document says of each property its type, format, enum, pattern, whether it is output only, and for which
methods it is required; of each method the names in its path. The documents come with google-api-python-client.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import googleapiclient
from google.protobuf import json_format

from tests import google_clients
from tests.components.official_models.limits import broken

DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "int64": (-(2**63), 2**63 - 1)}
RANGES["uint64"] = (0, 2**64 - 1)
KINDS: dict[str, type] = {"string": str, "boolean": bool, "integer": int, "number": float}
MESSAGES = {"compute.v1": google_clients.compute_v1, "secretmanager.v1": google_clients.secretmanager_v1}
"""Clients with messages, by document."""


@lru_cache
def _document(api: str) -> dict[str, Any]:
    return json.loads((DOCUMENTS / f"{api}.json").read_text())


def method(identity: str) -> tuple[str, dict[str, Any]]:
    """Return the document and the method of "compute.v1/instances.insert"."""
    api, _, path = identity.partition("/")
    *above, name = path.split(".")
    level = _document(api)
    for part in above:
        level = level["resources"][part]
    return api, level["methods"][name]


def faults(identity: str, place: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request: "path: reason". place: names in its path and query."""
    api, called = method(identity)
    found = [f"{name}: {called['id']} has no such parameter" for name in place.keys() - called["parameters"].keys()]
    for name, rule in called["parameters"].items():
        if name in place:
            found += _text(place[name], rule, name)
        elif rule.get("required") and name != "project":
            found.append(f"{name}: {called['id']} needs it")
    kind = called["request"]["$ref"]
    found += _value(api, called["id"], {"$ref": kind}, body, "")
    if api in MESSAGES:
        found += _message(MESSAGES[api], kind, body)
    return found


def _message(package: ModuleType, kind: str, body: dict[str, Any]) -> list[str]:
    """Return why the client's message does not take the body; nothing if the client has no message of that name."""
    message = getattr(package, kind, None)
    if message is None:
        return []
    try:
        json_format.ParseDict(body, message.pb(message()), ignore_unknown_fields=False)
    except json_format.ParseError as refused:
        return [f"{kind} of {package.__name__}: {refused}"]
    return []


def _value(api: str, called: str, rule: dict[str, Any], value: Any, at: str) -> Iterator[str]:
    if "$ref" in rule:
        rule = {**_document(api)["schemas"][rule["$ref"]], "name": rule["$ref"]}
    if rule["type"] == "array":
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield from _value(api, called, rule["items"], each, f"{at}[{index}]")
        else:
            yield f"{at}: {type(value).__name__}, not a list"
    elif rule["type"] == "object":
        if isinstance(value, dict):
            yield from _object(api, called, rule, value, at)
        else:
            yield f"{at}: {type(value).__name__}, not an object"
    elif rule["type"] != "any":
        yield from _text(value, rule, at)


def _object(api: str, called: str, rule: dict[str, Any], value: dict[str, Any], at: str) -> Iterator[str]:
    properties, others = rule.get("properties", {}), rule.get("additionalProperties")
    for key, each in value.items():
        path = f"{at}.{key}".lstrip(".")
        inner = properties.get(key, others)
        if inner is None:
            yield f"{path}: {rule.get('name', 'the object')} has no such property"
            continue
        if _output_only(inner):
            yield f"{path}: output only"
        yield from _value(api, called, inner, each, path)
    for key, inner in properties.items():
        if key not in value and _required(inner, called):
            yield f"{at}.{key}: required".lstrip(".")


def _output_only(rule: dict[str, Any]) -> bool:
    text = rule.get("description", "")
    return bool(rule.get("readOnly")) or text.startswith(("[Output Only]", "[Output only]", "Output only"))


def _required(rule: dict[str, Any], called: str) -> bool:
    if called in rule.get("annotations", {}).get("required", []):
        return True
    return rule.get("description", "").startswith("Required.")


def _text(value: Any, rule: dict[str, Any], at: str) -> Iterator[str]:
    """Judge a text, number or truth value."""
    form = rule.get("format", "")
    if rule["type"] == "string" and form in RANGES and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # JSON has no 64-bit numbers; both forms are taken
    kind = KINDS[rule["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{at}: {type(value).__name__}, not {rule['type']}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{at}: {value!r} is not one of {', '.join(rule['enum'])}"
    if form in RANGES:
        if not re.fullmatch(r"-?\d+", str(value)):
            yield f"{at}: {value!r} is no whole number"
            return
        yield from broken(int(value), at, least=RANGES[form][0], most=RANGES[form][1])
    yield from broken(value, at, pattern=rule.get("pattern"))
