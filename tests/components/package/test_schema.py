"""The package's schema: defaults, allowed values and units in descriptions, enums, secrets, references."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.spec.models import ClusterSpec

ROOT = Path(__file__).resolve().parents[3]
SCHEMA: dict[str, Any] = json.loads((ROOT / "components" / "schema.json").read_text("utf-8"))
CLUSTER = SCHEMA["resources"]["mullion:index:MixedCluster"]
ARGS = {token: each for token, each in SCHEMA["types"].items() if token.endswith("Args")}


def fields() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield path, schema and whether it is required of every input."""
    for token, each in ARGS.items():
        for name, field in each["properties"].items():
            yield f"{token}.{name}", field, name in each.get("required", ())


def is_group(field: dict[str, Any]) -> bool:
    """Return whether a field holds options that have defaults of their own."""
    inner = field.get("additionalProperties", {}) if field.get("type") == "object" else field
    return inner.get("$ref", "").rpartition("/")[2] in ARGS


def test_every_optional_input_says_its_default() -> None:
    silent = [
        path
        for path, field, needed in fields()
        if not (needed or is_group(field)) and "Default" not in field["description"]
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("PoolArgs.count", "Default: 1. Allowed: 0 to 5000. Unit: machines."),
        ("PoolArgs.maxPods", "Default: 110. Allowed: 1 to 1000. Unit: pods for each node."),
        ("RolloutArgs.drain", "Form: duration, with a unit: s, m, h or d."),
        ("NetworkArgs.services", "Default: 10.96.0.0/12. Form: IPv4 range (address/prefix)."),
        ("ControlPlaneArgs.count", "Allowed: 1, 3."),
    ],
)
def test_a_description_has_default_allowed_values_and_unit(path: str, words: str) -> None:
    kind, name = path.split(".")
    assert words in ARGS[f"mullion:index:{kind}"]["properties"][name]["description"]


@pytest.mark.parametrize(
    ("name", "token", "values"),
    [
        ("csi", "StorageDriver", ["ebs", "efs", "azuredisk", "azurefile", "pd", "smb"]),
        ("registryCredentials", "Registry", ["ecr", "acr", "gar"]),
    ],
)
def test_a_list_of_fixed_values_is_a_list_of_an_enum(name: str, token: str, values: list[str]) -> None:
    item = CLUSTER["inputProperties"][name]["items"]
    assert item["$ref"] == f"#/types/mullion:index:{token}"
    assert [each["value"] for each in SCHEMA["types"][f"mullion:index:{token}"]["enum"]] == values


def test_the_kubeconfig_is_the_only_secret_output() -> None:
    assert [name for name, each in CLUSTER["properties"].items() if each.get("secret")] == ["kubeconfig"]


def test_every_reference_names_a_type_of_the_schema() -> None:
    named = {f"#/types/{token}" for token in SCHEMA["types"]}
    assert named >= set(references(SCHEMA))


def references(value: Any) -> Iterator[str]:
    """Yield all references below a value."""
    if isinstance(value, dict):
        found = value.get("$ref")
        yield from [found] if isinstance(found, str) and not found.startswith("pulumi.json") else []
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from references(each)


def test_the_inputs_of_functions_are_those_of_the_cluster() -> None:
    whole = ARGS["mullion:index:ClusterArgs"]
    assert whole["properties"] == CLUSTER["inputProperties"]
    assert len(whole["properties"]) == len(ClusterSpec.model_fields)
