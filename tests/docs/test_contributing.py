"""Files and folders that CONTRIBUTING.md and tests/README.md name exist."""

import re

import pytest

from tests.docs import pages

PATH = re.compile(r"`([a-z_.-]+/[A-Za-z0-9_./-]*)`")
ABSENT = re.compile(r"CLOUD|NAME|CONCERN")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/proof.md"])
def test_paths_that_a_page_names_exist(name: str) -> None:
    named = [path for path in PATH.findall((pages.ROOT / name).read_text("utf-8")) if not ABSENT.search(path)]
    assert [path for path in named if not (pages.ROOT / path).exists()] == []


def test_readme_of_tests_lists_every_folder() -> None:
    listed = set(re.findall(r"`(\w+)/`", (pages.ROOT / "tests" / "README.md").read_text("utf-8")))
    folders = {path.name for path in (pages.ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= listed
