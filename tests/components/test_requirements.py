"""`pulumi package add` installs components/requirements.txt: what components/ imports, with versions and hashes.

`make lock` writes the file from components/requirements.in and requirements.lock.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "components"

PACKAGES = {"yaml": "PyYAML", "google": "pulumi", "grpc": "pulumi", "pydantic_core": "pydantic"}
"""Package that brings a module, if its name differs. protobuf and gRPC come with pulumi, in the version it needs."""


def imported() -> set[str]:
    """Return the top-level modules that components/ imports from other packages, also inside functions."""
    modules: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    return modules - set(sys.stdlib_module_names) - {"components"}


def named() -> set[str]:
    """Return the packages of components/requirements.in."""
    lines = (ROOT / "requirements.in").read_text("utf-8").splitlines()
    return {re.split(r"[<>=]", line)[0].replace("_", "-") for line in lines}


def locked(path: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Return the SHA-256 digests of a file with hashes: package -> version with its marker -> digests."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for entry in re.split(r"\n(?=\S)", path.read_text("utf-8")):
        if match := re.match(r"([\w.-]+)==(.+?) \\\n", entry):
            found.setdefault(match[1], {})[match[2]] = frozenset(re.findall(r"--hash=sha256:(\S+)", entry))
    return found


def test_requirements_name_exactly_the_imported_packages() -> None:
    assert named() == {PACKAGES.get(module, module.replace("_", "-")) for module in imported()}


def test_the_component_package_installs_the_versions_and_hashes_of_requirements_lock() -> None:
    installed, known = locked(ROOT / "requirements.txt"), locked(ROOT.parent / "requirements.lock")
    assert {each.lower() for each in named()} <= installed.keys()
    for package, versions in installed.items():
        assert versions == known[package]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digests in versions.values() for digest in digests)
        assert all(versions.values())
