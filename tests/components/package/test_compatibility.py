"""Programs of the last landing work with this package: names and types stay, or CHANGELOG.md names what goes.

`MULLION_RECORD=1` writes the names and types of this one to tests/golden/package.txt.
"""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.schema_changes import breaking, lines

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests" / "golden" / "package.txt"
SCHEMA: dict[str, Any] = json.loads((ROOT / "components" / "schema.json").read_text("utf-8"))
POOL, CLUSTER, CLOUD = "mullion:index:PoolArgs", "mullion:index:MixedCluster", "mullion:index:Cloud"


def unreleased() -> str:
    """Return the section of CHANGELOG.md about what is not released."""
    return (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## Unreleased\n", 1)[1].split("\n## ", 1)[0]


def test_a_change_of_the_package_that_breaks_programs_needs_an_entry_in_the_changelog() -> None:
    before, now = RECORDED.read_text("utf-8").splitlines(), lines(SCHEMA)
    broken, text = breaking(before, now), unreleased()
    names = {path: path.rpartition("mullion:index:")[2] for path in broken}
    unsaid = [path for path, name in names.items() if f"`{name}`" not in text]
    assert not unsaid, "name these in CHANGELOG.md below Unreleased, in backquotes without mullion:index:"
    if os.environ.get("MULLION_RECORD"):
        RECORDED.write_text("".join(f"{line}\n" for line in now), "utf-8")
    elif before != now:
        pytest.fail("the package has changed; write tests/golden/package.txt: run this test with MULLION_RECORD=1")


def removed_field(schema: dict[str, Any]) -> None:
    del schema["types"][POOL]["properties"]["count"]


def retyped_field(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["properties"]["count"]["type"] = "string"


def required_field(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["required"].append("count")


def new_required_input(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["properties"]["count2"] = {"type": "string"}
    schema["types"][POOL]["required"].append("count2")


def removed_value(schema: dict[str, Any]) -> None:
    schema["types"][CLOUD]["enum"] = schema["types"][CLOUD]["enum"][1:]


def removed_output(schema: dict[str, Any]) -> None:
    del schema["resources"][CLUSTER]["properties"]["machines"]


def plain_secret(schema: dict[str, Any]) -> None:
    del schema["resources"][CLUSTER]["properties"]["kubeconfig"]["secret"]


def removed_function(schema: dict[str, Any]) -> None:
    del schema["functions"]["mullion:index:plan"]


def renamed_type(schema: dict[str, Any]) -> None:
    schema["types"][f"{POOL}2"] = schema["types"].pop(POOL)


def changed(change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Return what breaks by a change of the schema."""
    schema = copy.deepcopy(SCHEMA)
    change(schema)
    return breaking(lines(SCHEMA), lines(schema))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (removed_field, f"in {POOL}.count"),
        (retyped_field, f"in {POOL}.count"),
        (required_field, f"in {POOL}.count"),
        (new_required_input, f"in {POOL}.count2"),
        (removed_value, f"value {CLOUD}.AWS"),
        (removed_output, f"out {CLUSTER}.machines"),
        (plain_secret, f"out {CLUSTER}.kubeconfig"),
        (removed_function, "function mullion:index:plan"),
        (renamed_type, f"type {POOL}"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_change_that_breaks_programs_is_found(change: Callable[[dict[str, Any]], None], path: str) -> None:
    assert path in changed(change)


def new_optional_input(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["properties"]["count2"] = {"type": "string"}


def optional_field(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["required"].remove("os")


def new_type(schema: dict[str, Any]) -> None:
    schema["types"]["mullion:index:New"] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }


def new_description(schema: dict[str, Any]) -> None:
    schema["types"][POOL]["properties"]["count"]["description"] = "How many."


@pytest.mark.parametrize("change", [new_optional_input, optional_field, new_type, new_description])
def test_a_change_that_breaks_no_program_passes(change: Callable[[dict[str, Any]], None]) -> None:
    assert changed(change) == []
