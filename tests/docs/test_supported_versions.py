"""Kubernetes versions that stack files, pages and help suggest exist and are still supported."""

import re
from pathlib import Path

import pytest

from components import releases
from components.catalogue import artifacts
from tests.docs import pages
from tests.operations.test_help import COMMANDS

SUGGESTED = re.compile(
    r"(?:^ *kubernetes: |\bmullion upgrade \S+ |\bmullion new .*--kubernetes )\"?(1\.\d+\.\d+)", re.MULTILINE
)
"""A stack file's line, and commands that write a version into a stack file."""
ACKNOWLEDGED = "kubernetes-end-of-life: "
"""In a stack file that runs a version on purpose although its support has ended."""
FILES = [*pages.PAGES, *sorted(pages.ROOT.glob("stacks/Pulumi.*.yaml"))]


def unsupported(text: str) -> list[str]:
    """Return the suggested versions that `mullion versions` does not list as supported when its tables were made."""
    known = artifacts.versions("kubernetes-node")
    return [
        version
        for version in SUGGESTED.findall(text)
        if version not in known or releases.ended(releases.release(version).end_of_life)
    ]


def _suggests(path: Path) -> bool:
    text = path.read_text("utf-8")
    return bool(SUGGESTED.search(text)) and not (path.suffix == ".yaml" and ACKNOWLEDGED in text)


@pytest.mark.parametrize("path", [path for path in FILES if _suggests(path)], ids=pages.name)
def test_versions_that_a_page_or_stack_file_suggests_are_supported(path: Path) -> None:
    assert unsupported(path.read_text("utf-8")) == []


def test_versions_in_examples_of_help_are_supported() -> None:
    examples = "\n".join(command.epilog for command in COMMANDS.values())
    assert SUGGESTED.search(examples)
    assert unsupported(examples) == []


@pytest.mark.parametrize("version", ["1.32.13", "1.37.99"], ids=["ended", "unknown"])
def test_a_version_that_ended_or_does_not_exist_is_found(version: str) -> None:
    assert unsupported(f'    kubernetes: "{version}"') == unsupported(f"mullion upgrade a {version}") == [version]
