"""JSON schema of a stack file, for editors: completion, descriptions, defaults, errors while typing.

The schema judges each option alone; the checks judge how options fit together. An option whose default depends on
others is not required.
"""

from typing import Any, cast

from components.clouds import CLOUDS
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, TARGET

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The draft that the YAML language server supports best."""

FILLED = {
    "Network": ("pods", "nodes", "dns", "zones", "nat_gateways"),
    "ControlPlane": ("size",),
    "Pool": ("size", "disk_gb", "taints"),
    "ClusterSpec": ("network", "control_plane"),
}
"""By model: options that a complete spec needs, and that `defaults.py` fills in."""

_OCTET = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
_ADDRESS = rf"{_OCTET}(\.{_OCTET}){{3}}"
PATTERNS = {"ipv4": f"^{_ADDRESS}$", "ipv4network": rf"^{_ADDRESS}(/(3[0-2]|[12]?\d|{_ADDRESS}))?$"}
"""By format: a pattern for editors, which do not know the format `ipv4network`."""


def stack_schema() -> dict[str, Any]:
    """Return the schema of a stack file."""
    cluster = ClusterSpec.model_json_schema()
    definitions: dict[str, Any] = cluster.pop("$defs")
    definitions["ClusterSpec"] = cluster
    for name, filled in FILLED.items():
        required = [each for each in definitions[name].get("required", []) if each not in filled]
        definitions[name]["required"] = required
    regions = {
        facts.region_key: {"type": "string", "description": f"Region, e.g. {facts.region_example}."}
        for facts in CLOUDS.values()
    }
    target = {
        "type": "string",
        "description": "Where the stack is built: sandbox, or cloud. The command sets it for its own runs.",
    }
    config = {
        "type": "object",
        "properties": {**regions, CLUSTER: {"$ref": "#/definitions/ClusterSpec"}, TARGET: target},
        "required": [CLUSTER],
        "patternProperties": {"^(?!mullion:)[^:]+:": {"description": "Configuration of a provider."}},
        "additionalProperties": False,
    }
    text = {"type": "string"}
    return {
        "$schema": DRAFT,
        "title": "Mullion stack",
        "type": "object",
        "properties": {"config": config, "encryptionsalt": text, "encryptedkey": text, "secretsprovider": text},
        "required": ["config"],
        "additionalProperties": False,
        "definitions": {name: _plain(each) for name, each in sorted(definitions.items())},
    }


def _plain(schema: Any) -> Any:
    """Return a schema for draft 7: `definitions`, no titles, descriptions on one line, no empty `required`."""
    if isinstance(schema, list):
        return [_plain(each) for each in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in cast(dict[str, Any], schema).items():
        if key == "properties":
            plain[key] = {name: _plain(each) for name, each in value.items()}
        elif key == "$ref":
            plain[key] = value.replace("#/$defs/", "#/definitions/")
        elif (key == "title" and isinstance(value, str)) or (key == "required" and not value):
            continue
        else:
            plain[key] = " ".join(value.split()) if key == "description" else _plain(value)
    if pattern := PATTERNS.get(str(plain.get("format"))):
        plain["pattern"] = pattern
    if "$ref" in plain and len(plain) > 1:  # draft 7 ignores other keys beside a $ref
        plain["allOf"] = [{"$ref": plain.pop("$ref")}]
    return plain
