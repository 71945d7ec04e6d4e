"""Renders docs/requirements.md: every requirement id, its state, and the tests and pages that cite it."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).with_name("requirements.yaml")
PAGE = "docs/requirements.md"

SKIPPED = (PAGE, "tools/requirements.yaml", "tests/tools/test_requirements_page.py")
"""This page, its data and its test."""

STATES = ("works", "refused", "not built")

FOLDERS = (
    *("cloud-init", "components", "docs", "lab", "operations", "policies", "sandbox", "stacks", "tests", "tools"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
)
"""Folders and files that are searched for citations."""

SUFFIXES = frozenset({".go", ".json", ".md", ".ps1", ".psm1", ".py", ".sh", ".yaml"})

HEADER = """# Requirements

Written by `make generate` from `tools/requirements.yaml`.

Code, tests and pages cite these ids. They come from the Kubernetes documentation of Windows nodes. "works": built, and
tested as the last column says, in the sandbox or the lab and not in a real cloud ([proof](proof.md)); "refused": a
check refuses the option or value ([checks](checks.md)); "not built": nothing exists yet.
"""


def groups() -> dict[str, dict[str, dict[str, str]]]:
    """Return the rows of requirements.yaml: title of a group -> id -> state and text."""
    return yaml.safe_load(DATA.read_text("utf-8"))


def requirements() -> dict[str, dict[str, Any]]:
    """Return id -> state and text."""
    return {name: row for rows in groups().values() for name, row in rows.items()}


def citations() -> dict[str, list[str]]:
    """Return id -> files that cite it, as RES-01 or in a test's name as test_res_01_..., without goldens."""
    areas = "|".join(sorted({name.partition("-")[0] for name in requirements()}))
    pattern = re.compile(rf"\b({areas})-(\d\d)\b|\btest_({areas.lower()})_(\d\d)_")
    cited: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for folder in FOLDERS for path in _files(ROOT / folder)):
        name = path.relative_to(ROOT).as_posix()
        if name in SKIPPED or name.startswith("tests/golden/"):
            continue
        matches = pattern.findall(path.read_text("utf-8", errors="replace"))
        for each in sorted({f"{upper or lower.upper()}-{number or other}" for upper, number, lower, other in matches}):
            cited[each].append(name)
    return cited


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.suffix in SUFFIXES]


def render() -> str:
    """Return the page, in Markdown."""
    cited = citations()
    counts = [sum(row["state"] == state for row in requirements().values()) for state in STATES]
    parts = [HEADER, f"{', '.join(f'{count} {state}' for count, state in zip(counts, STATES, strict=True))}.\n"]
    for title, rows in groups().items():
        parts += [f"## {title}\n", "| id | requirement | state | pages | tests |", "|---|---|---|---|---|"]
        parts += [_row(name, row, cited[name]) for name, row in rows.items()]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(name: str, row: dict[str, str], files: list[str]) -> str:
    pages = " ".join(f"[{Path(file).stem}]({Path(file).name})" for file in files if re.fullmatch(r"docs/.+\.md", file))
    tests = [file.removeprefix("tests/") for file in files if file.startswith("tests/")]
    return f"| {name} | {row['text']} | {row['state']} | {pages} | {' '.join(f'`{test}`' for test in tests)} |"
