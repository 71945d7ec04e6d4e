"""docs/architecture.md lists the packages and rooms that tests/test_rooms.py holds, in the same order."""

import re

import pytest

from tests.docs import pages
from tests.test_rooms import PACKAGES, ROOMS

TEXT = (pages.ROOT / "docs" / "architecture.md").read_text("utf-8")


def rows(heading: str) -> list[str]:
    """Return the first cells of the table under a heading."""
    section = re.split(r"^#+ ", TEXT.partition(heading)[2], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def test_page_lists_the_packages_in_the_order_of_their_imports() -> None:
    assert rows("## Packages\n") == [f"{package}/" for package in PACKAGES]


@pytest.mark.parametrize("package", ROOMS)
def test_page_lists_the_rooms_of_a_package_in_the_order_of_their_imports(package: str) -> None:
    assert rows(f"### Rooms of {package}/\n") == list(ROOMS[package])
