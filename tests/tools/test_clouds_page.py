"""The pages of the clouds: the same headings, existing checks, and a table with every cloud."""

import re

import pytest

from components.checks import CHECKS
from components.clouds import CLOUDS
from components.spec.choices import Cloud
from components.spec.form import FORMS
from operations.stacks.paths import REPOSITORY
from tools import clouds_page

HEADINGS = ["Needs", "Set-up", "Cluster", "What `plan` shows", "Verify", "Limits", "Destroy"]
PAGES = {each.value: REPOSITORY / "docs" / f"{each.value}.md" for each in Cloud}
WRITTEN = [name for name, path in PAGES.items() if path.exists()]


@pytest.mark.parametrize("name", WRITTEN)
def test_each_cloud_has_a_page_with_the_same_headings(name: str) -> None:
    assert re.findall(r"^## (.+)$", PAGES[name].read_text("utf-8"), re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("name", WRITTEN)
def test_the_checks_named_on_a_page_exist(name: str) -> None:
    text = PAGES[name].read_text("utf-8")
    table = text.partition("| check | why |\n|---|---|\n")[2].partition("\n\n")[0]
    named = {each for line in table.splitlines() for each in re.findall(r"`([^`]+)`", line.split("|")[1])}
    assert named
    assert named <= {each.id for each in CHECKS} | FORMS.keys()


def test_each_row_has_text_for_each_cloud() -> None:
    assert CLOUDS.keys() == PAGES.keys()
    for what, cell in clouds_page.ROWS:
        assert all(cell(name) for name in CLOUDS), what
