"""The installed command finds every part of the clone that it uses, not only where the clone is on the path."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from operations.stacks.paths import REPOSITORY

COMMAND = ("components", "operations", "sandbox")
"""Where the command's own modules are."""


def packages() -> set[str]:
    """Packages that the editable install of a clone makes importable."""
    (words,) = re.findall(r"^packages = \[(.*)\]$", (REPOSITORY / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    return set(re.findall(r'"(\w+)"', words))


def imported(file: Path) -> Iterator[str]:
    """First words of the modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def test_every_package_that_the_command_imports_is_installed() -> None:
    found = {name for each in COMMAND for file in (REPOSITORY / each).rglob("*.py") for name in imported(file)}
    ours = {each.name for each in REPOSITORY.iterdir() if each.is_dir() and not each.name.startswith(".")}
    assert sorted((found & ours) - packages()) == [], "pyproject.toml, [tool.setuptools] packages"
