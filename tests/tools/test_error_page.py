"""docs/errors.md lists, for every step of a Windows node, the error numbers it can end with."""

import json

from components.machine.bundle import CLOUD_INIT, ERRORS
from tools import error_page

NAMES = {each["name"] for each in json.loads((CLOUD_INIT / ERRORS).read_text(encoding="ascii"))["errors"]}


def test_every_windows_step_has_a_row_with_existing_error_numbers() -> None:
    steps = error_page.windows_steps()
    assert {each.kind for each in steps} == error_page.ENDS.keys()
    assert {name for names in error_page.ENDS.values() for name in (*names, *error_page.EVERY_STEP)} <= NAMES
    page = error_page.render()
    assert [each.name for each in steps if f"| `{each.name}` | {each.kind} |" not in page] == []


def test_a_step_with_its_own_error_has_that_number() -> None:
    assert "| `kubelet-runs` | wait | 512 |" in error_page.render()
    assert "| `endpoint` | wait | 404 |" in error_page.render()
