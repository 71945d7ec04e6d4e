"""Stack files that pages show are valid and give no warning."""

from pathlib import Path

import pytest
import yaml

from components import releases
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, EXAMPLES, read_stack
from tests.docs import pages

STACKS = [
    (page, text)
    for page in pages.PAGES
    for language, text in pages.fences(page)
    if language == "yaml" and "config:" in text and CLUSTER in text
]


@pytest.mark.parametrize(("page", "text"), STACKS, ids=[pages.name(page) for page, _ in STACKS])
def test_stack_file_that_a_page_shows_has_no_errors_and_warnings_about_examples_only(page: Path, text: str) -> None:
    stack = read_stack("demo", yaml.safe_load(text)["config"])
    assert {warning.id for warning in stack.warnings} <= EXAMPLES
    assert plan_cluster("demo", stack.spec).machines


def test_readme_and_tutorial_show_the_same_stack_file() -> None:
    first, second = ({page.name: text for page, text in STACKS}[name] for name in ("README.md", "tutorial.md"))
    assert yaml.safe_load(first) == yaml.safe_load(second)


def test_readme_and_the_page_of_downloads_name_the_newest_minor() -> None:
    newest = releases.supported_minors()[-1]
    assert f"| Kubernetes | 1.20-{newest} |" in (pages.ROOT / "README.md").read_text("utf-8")
    assert f"from 1.20 to {newest}," in (pages.ROOT / "docs" / "artifacts.md").read_text("utf-8")
