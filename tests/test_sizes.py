"""Sizes that keep the code readable: lines of a file and of a function, parameters of a constructor."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES = 300
FUNCTION_LINES = 60
PARAMETERS = 6
"""Most parameters of a constructor, without self. Dataclasses are records: their fields do not count."""


def sources() -> list[Path]:
    suffixes = (".py", ".ps1", ".psm1", ".go", ".sh")
    return [path for path in _tracked() if path.suffix in suffixes and "golden" not in path.parts]


def _tracked() -> Iterator[Path]:
    skipped = {".venv", ".git", ".mullion", "node_modules"}
    for folder in ROOT.iterdir():
        if folder.name in skipped or folder.name.endswith(".egg-info"):
            continue
        yield from (path for path in ([folder] if folder.is_file() else folder.rglob("*")) if path.is_file())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


OPENING = re.compile(r"(\s*)(?:function\s+[\w-]+|func\s.*|\w+\s*\(\))[^{}]*\{$", re.IGNORECASE)
"""First line of a function in PowerShell, Go or a shell script; its closing brace is indented alike."""


def script_functions(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each function of a script or Go program."""
    lines = path.read_text("utf-8").splitlines()
    for first, line in enumerate(lines):
        if opening := OPENING.fullmatch(line.rstrip()):
            yield first + 1, lines.index(opening[1] + "}", first) + 1


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_300_lines() -> None:
    long = {_name(path): len(path.read_text("utf-8").splitlines()) for path in sources()}
    assert {name: lines for name, lines in long.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{_name(path)}:{node.lineno} {node.name}"
        for path in sources()
        if path.suffix == ".py"
        for node in functions(path)
        if node.end_lineno and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_no_function_of_a_script_or_go_program_is_longer_than_60_lines() -> None:
    spans = {path: list(script_functions(path)) for path in sources() if path.suffix != ".py"}
    assert sum(map(len, spans.values())) > 400, "the expression finds functions"
    long = [
        f"{_name(path)}:{first}"
        for path, found in spans.items()
        for first, last in found
        if last - first + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_no_constructor_has_more_than_6_parameters() -> None:
    many = [
        f"{_name(path)}:{node.lineno} takes {count}"
        for path in sources()
        if path.suffix == ".py"
        for node in functions(path)
        if node.name == "__init__"
        and (count := len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]) - 1) > PARAMETERS
    ]
    assert many == []
