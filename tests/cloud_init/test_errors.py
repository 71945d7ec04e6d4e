"""errors.json: every error that an executor raises has a row, and every row is raised."""

import json
import re
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT, ERRORS, OsFamily, scripts
from components.node.kinds import KINDS

ROWS: list[dict[str, Any]] = json.loads((CLOUD_INIT / ERRORS).read_text(encoding="ascii"))["errors"]
NAMES = {row["name"] for row in ROWS}
RAISED = re.compile(r"""(?:Failure\(\s*|New-Failure\s+|ended\()["']([a-z]+(?:-[a-z]+)*)["']""")
"""A failure created with a literal name."""
REBOOT = "reboot"
"""Ends a run for a restart on Windows; not an error."""
LINUX_HAS_NO = {
    "build-refused",
    "code-blocked",
    "drive-small",
    "feature-failed",
    "hypervisor-missing",
    "image-refused",
    "pod-range-missing",
    "overlay-missing",
    "adapter-missing",
}
"""Errors of kinds that exist only on Windows."""
DOWN = set(KINDS["wait"].fields["error"].type["enum"])
"""Errors that a plan assigns to a wait step."""
WINDOWS_HAS_NO = {"disk-missing", "disk-used", "founding-refused"}
"""Errors of kinds that exist only on Linux."""


def _source(family: OsFamily) -> str:
    return "\n".join(text.decode() for name, text in scripts(family).items() if name != ERRORS)


@pytest.mark.parametrize("family", ["linux", "windows"])
def test_an_executor_raises_only_errors_of_the_table(family: OsFamily) -> None:
    found = set(RAISED.findall(_source(family)))
    assert len(found) > 12, "the pattern no longer finds what executors raise"
    assert found - {REBOOT} - NAMES == set()


@pytest.mark.parametrize(("family", "others"), [("linux", LINUX_HAS_NO), ("windows", WINDOWS_HAS_NO)])
def test_every_error_of_the_table_is_raised_by_the_executors_with_its_cause(family: OsFamily, others: set[str]) -> None:
    words = set(re.findall(r"""["']([a-z]+(?:-[a-z]+)*)["']""", _source(family)))
    assert NAMES - others - words - DOWN == set()
    assert others & set(RAISED.findall(_source(family))) == set(), "the executor raises them after all"


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [row["code"] for row in ROWS]
    assert codes == sorted(set(codes))
    assert len(NAMES) == len(ROWS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in NAMES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_error_has_a_cause_and_a_remedy(row: dict[str, Any]) -> None:
    assert row.keys() == {"code", "name", "retry", "cause", "remedy"}
    assert isinstance(row["retry"], bool)
    assert all(len(row[each]) > 20 and row[each].endswith(".") for each in ("cause", "remedy"))


def test_codes_that_the_kinds_table_mentions_are_in_the_table() -> None:
    said = " ".join(each for kind in KINDS.values() for each in (kind.meaning, kind.sets, kind.compares))
    said += " ".join(field.meaning for kind in KINDS.values() for field in kind.fields.values())
    mentioned = {int(code) for code in re.findall(r"\((\d{3})\b", said)}
    assert mentioned
    assert mentioned <= {row["code"] for row in ROWS}
