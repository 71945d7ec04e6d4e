"""Rooms and the imports that are allowed between them: no circle, no arrow upwards (docs/architecture.md)."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = ("components", "lab", "sandbox", "operations", "portal", "tools")
"""Packages; each may import itself and those before it. Programs beside them (`__main__.py`, policies) import
components alone."""

ROOMS = {
    "components": (
        *("version", "naming", "sdk", "clouds", "spec"),
        *("catalogue", "releases", "topology", "lint"),
        *("node", "checks", "stack_files"),
        *("machine", "plan", "cost", "rollout", "wiring"),
        *("aws", "azure", "gcp"),
        *("option_args", "pod_args", "cluster_args", "cluster", "package", "__main__"),
    ),
    "operations": (
        *("console", "clouds", "stacks", "cost"),
        *("downloads", "recorder", "verification", "manifests", "joining"),
        *("engine", "recovery", "html_report", "reaping"),
        *("commands", "chaos"),
        *("cli_options", "cluster_cli", "documents_cli", "ephemeral_cli", "image_cli", "inspect_cli", "recover_cli"),
        *("request_cli", "sandbox_cli"),
        "__main__",
    ),
}
"""Rooms of a package; each may import those before it."""

CLOUDS = ("aws", "azure", "gcp")
"""Rooms of the clouds; none imports another."""


def modules() -> dict[str, Path]:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {_dotted(path): path for path in files}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of PACKAGES and tests that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                found.add(member if member in known else node.module)
    return {name for name in found if name.partition(".")[0] in (*PACKAGES, "tests")}


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def imported() -> dict[str, set[str]]:
    """Return the imports of every module of PACKAGES. Parsing takes a second, which no other test worker spends."""
    known = modules()
    return {module: imports(path, known) for module, path in known.items()}


def test_no_package_imports_one_above_it() -> None:
    upwards = [
        f"{module} imports {target}"
        for module, targets in imported().items()
        for target in targets
        if target.partition(".")[0] in PACKAGES
        if PACKAGES.index(target.partition(".")[0]) > PACKAGES.index(module.partition(".")[0])
    ]
    assert not upwards


def test_no_package_imports_tests() -> None:
    assert not [
        f"{module} imports {target}"
        for module, targets in imported().items()
        for target in targets
        if target.partition(".")[0] == "tests"
    ]


@pytest.mark.parametrize("package", ROOMS)
def test_no_room_imports_one_above_it(package: str) -> None:
    order = ROOMS[package]
    upwards = [
        f"{module} imports {target}"
        for module, targets in imported().items()
        for target in targets
        if module.partition(".")[0] == target.partition(".")[0] == package
        and _room(module)
        and _room(target)
        and order.index(_room(target)) > order.index(_room(module))
    ]
    assert not upwards


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_has_a_place_in_the_order(package: str) -> None:
    assert {_room(module) for module in imported() if module.startswith(f"{package}.")} == set(ROOMS[package])


def test_no_cloud_imports_another_cloud() -> None:
    crossing = [
        f"{module} imports {target}"
        for module, targets in imported().items()
        for target in targets
        if module.startswith("components.") and target.startswith("components.")
        if {_room(module), _room(target)} <= set(CLOUDS) and _room(module) != _room(target)
    ]
    assert not crossing


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    graph = {
        module: targets & imported().keys() for module, targets in imported().items() if module.startswith(package)
    }
    left = dict(graph)
    while ready := [module for module, targets in left.items() if not (targets - {module}) & set(left)]:
        for module in ready:
            del left[module]
    assert not left, "these modules are in a circle, or import one: " + ", ".join(sorted(left))
