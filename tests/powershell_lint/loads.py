"""Assemblies and modules that tests load: a script that forgets one would run in such a test, and not under 5.1."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADS = re.compile(
    r"Add-Type\s+(?:-As?\w*|-Pa?\w*)\s+\S+|LoadWithPartialName|\bAssembly\]::Load\w*|Import-Module\s+\S+|using\s+assembly",
    re.IGNORECASE,
)
"""Ways to load an assembly, and modules, which load their own."""
OURS = re.compile(r"Import-Module\s+(?:boot|card|windows)\b", re.IGNORECASE)
"""Modules of this project, which load no assembly: they are judged too."""


def texts(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the constants of a Python file, or of the lines of another."""
    if not path.endswith(".py"):
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def loads(path: str, source: str) -> list[tuple[int, str]]:
    """Return line and text of what a file loads."""
    found = [(line, one.group(0)) for line, text in texts(path, source) for one in LOADS.finditer(text)]
    return [(line, text) for line, text in found if not OURS.match(text)]


def judged() -> Iterator[Path]:
    """Yield the tests outside of this folder, and the stand-ins that tests load into PowerShell."""
    own = Path(__file__).parent
    for path in (ROOT / "tests").rglob("*.*"):
        if path.suffix in (".py", ".ps1", ".psm1") and own not in path.parents:
            yield path
    yield from (ROOT / "sandbox" / "boot" / "windows").rglob("*.psm1")
