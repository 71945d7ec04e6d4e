"""components/requirements.txt names the packages that components/ imports: `pulumi package add` installs no others."""

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


def test_requirements_name_exactly_the_imported_packages() -> None:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    named = {re.split(r"[<>=]", line)[0].replace("_", "-") for line in lines}
    assert named == {PACKAGES.get(module, module.replace("_", "-")) for module in imported()}
