"""Only components/releases compares versions; all other modules ask its tables."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = ("components", "operations", "sandbox", "policies")
HOME = ROOT / "components" / "releases"

OTHERS = {
    "operations/engine/locate.py": "the Pulumi engine's own version, which no table is about",
    "sandbox/simulated_agents.py": "the sandbox judges by itself and takes nothing from components: hops of one minor",
}
"""Files that may compare, and why."""

_VERSION = re.compile(r"v?\d+\.\d+(\.\d+)?")
_NAMES = re.compile(r"(^|_)(kubernetes|minor|version)$")
_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _findings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and reason of each expression that looks like a comparison of versions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from ((node.lineno, why) for why in _compared(node))
        elif isinstance(node, ast.Call) and _is_numbered(node):
            yield node.lineno, "makes numbers of a version"
        elif isinstance(node, ast.Call) and _begins(node):
            yield node.lineno, "looks at the start of a version"


def _compared(node: ast.Compare) -> Iterator[str]:
    sides = [node.left, *node.comparators]
    ordering = any(isinstance(each, _ORDERING) for each in node.ops)
    if any("version_info" in ast.unparse(each) for each in sides):
        return
    if any(_is_version(part) for each in sides for part in _parts(each)):
        yield "compares with a version"
    elif ordering and any(map(_is_named, sides)):
        yield "orders versions as text"
    elif ordering and any(map(_is_numbers, sides)):
        yield "compares with version numbers"


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _is_version(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_VERSION.fullmatch(node.value))


def _is_named(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return bool(_NAMES.search(name))


def _is_numbers(node: ast.expr) -> bool:
    """Return whether the node is a tuple of numbers such as (1, 24)."""
    inside = node.elts if isinstance(node, ast.Tuple) else []
    return len(inside) in (2, 3) and all(isinstance(each, ast.Constant) and type(each.value) is int for each in inside)


def _is_numbered(node: ast.Call) -> bool:
    """Return whether the call makes numbers of a split text, as map(int, text.split(".")); not of an address."""
    words = ast.unparse(node)
    whole = re.fullmatch(r"""(tuple|list|map|sorted)\(.*\bint\b.*\.split\(['"]\.['"]\).*\)""", words)
    part = re.fullmatch(r"""int\(.*\.split\(['"]\.['"]\)\[-?\d\]\)""", words)
    return (whole or part) is not None and "address" not in words


def _begins(node: ast.Call) -> bool:
    texts = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
    starts = isinstance(node.func, ast.Attribute) and node.func.attr == "startswith"
    return starts and any(re.fullmatch(r"v?\d+\.(\d+\.?)?", each) for each in texts)


def _files() -> list[Path]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return [path for path in paths if HOME not in path.parents and "__pycache__" not in path.parts]


def test_only_components_releases_compares_versions() -> None:
    comparisons = [
        f"{path.relative_to(ROOT)}:{line} {why}"
        for path in _files()
        if str(path.relative_to(ROOT)) not in OTHERS
        for line, why in _findings(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not comparisons, "ask a table in components/releases instead"


@pytest.mark.parametrize(
    "code",
    [
        'if minor < "1.24": pass',
        "if role.spec.kubernetes >= other: pass",
        'if subject.minor in ("1.20", "1.21"): pass',
        'if release.minor == "1.31": pass',
        "if order(x) >= (1, 24): pass",
        "parts = tuple(int(each) for each in text.split('.'))",
        "major, minor = map(int, text.split('.'))",
        "minor = int(version.split('.')[1])",
        'if kubernetes.startswith("1.2"): pass',
    ],
)
def test_the_scan_finds_every_form_of_comparison(code: str) -> None:
    assert list(_findings(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "if sys.version_info >= (3, 11): pass",
        'if address == "10.0.0.1": pass',
        "if count < 3: pass",
        'if releases.older(minor, "1.24"): pass',
        "if status in (404, 409): pass",
        "parts = tuple(map(int, address.split('.')))",
    ],
)
def test_the_scan_ignores_other_comparisons(code: str) -> None:
    assert not list(_findings(ast.parse(code)))
