"""docs/troubleshooting.md names existing steps, errors, checks and tests, and covers every listed requirement."""

import json
import re
from pathlib import Path

from components.checks import CHECKS
from components.machine.bundle import CLOUD_INIT, ERRORS
from tools import troubleshooting_page as page
from tools.golden.samples import plan

LISTED = {
    "OPS": (1, 2, 4, 5, 6, 7, 8),
    "SRV": (1, 3, 4, 5, 6, 7, 12),
    "NET": (5, 10, 11, 12),
    "RUN": (7, 8, 9, 10),
    "SMK": (9, 11, 14),
    "OS": (7,),
    "SVC": (10,),
}
"""Requirements of the troubleshooting items that the Kubernetes documentation has."""


def test_every_listed_item_is_on_the_page_and_begins_with_its_outcome() -> None:
    listed = {f"{area}-{number:02}" for area, numbers in LISTED.items() for number in numbers}
    assert {need for item in page.ITEMS for need in item.needs.split()} >= listed
    begins = ("Prevented", "Repaired", "Reported", "Refused", "A limit of Windows", "It holds", "`mullion logs")
    assert [item.title for item in page.ITEMS if not item.how.startswith(begins)] == []


def test_the_named_steps_errors_and_checks_exist() -> None:
    modes = [{}, {"network": {"mode": "l2bridge"}}]
    steps = {each.name for mode in modes for each in plan("windows-2019", **mode).steps}
    errors = {each["name"] for each in json.loads((CLOUD_INIT / ERRORS).read_text())["errors"]}
    checks = {each.id for each in CHECKS}
    for item in page.ITEMS:
        assert set(item.steps) <= steps, item.title
        assert set(item.errors) <= errors, item.title
        assert set(item.checks) <= checks, item.title


def test_the_named_tests_exist() -> None:
    folder = Path(__file__).parents[1]
    unproved = [item.title for item in page.ITEMS if not item.proofs]
    assert unproved == ["A NodePort or a Service's address does not answer on the Windows node itself"]
    for item in page.ITEMS:
        for file, _, name in (each.partition("::") for each in item.proofs):
            assert name in (folder / file).read_text(encoding="utf-8"), (item.title, file, name)


def test_every_row_has_all_cells() -> None:
    rows = [line for line in page.render().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}
