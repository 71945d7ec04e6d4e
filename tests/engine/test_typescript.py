"""Runs examples/typescript on the real engine: builds, changes and removes a cluster in a sandbox."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from components.stack_files.stack import stack_file_config
from operations.engine import workspace
from operations.engine.locate import Engine
from operations.recorder.recorder import record
from operations.stacks.paths import REPOSITORY

pytestmark = [pytest.mark.lab, pytest.mark.soak]


def compiled(folder: Path) -> None:
    """Install the example's npm packages and compile it into JavaScript."""
    shutil.copytree(REPOSITORY / "examples" / "typescript", folder)
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(install, cwd=folder, check=True, timeout=300)
    options = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--types", "node"]
    subprocess.run(["npx", "tsc", *options, "cluster.ts"], cwd=folder, check=True, timeout=200)


def environment(folder: Path, engine: Engine) -> dict[str, str]:
    """Return the sandbox's environment with the engine and a plug-in executable of the component package on PATH."""
    plugin = folder / "bin" / "pulumi-resource-mullion"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{REPOSITORY / "components"}" "$@"\n')
    plugin.chmod(0o755)
    (folder / "work").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(workspace.REMOVED)}
    path = os.pathsep.join([str(plugin.parent), str(engine.path.parent), os.environ["PATH"]])
    return {**kept, **workspace.prepare(folder), "PATH": path, "WORK": str(folder / "work")}


def test_typescript_builds_changes_and_removes_the_cluster_of_a_stack_file(
    tmp_path: Path, engine: Engine, missing: Callable[[str, str], NoReturn]
) -> None:
    if not shutil.which("npm"):
        missing("node", "there is no npm here")
    compiled(tmp_path / "example")
    command = ["node", str(tmp_path / "example" / "cluster.js")]
    variables = environment(tmp_path / "sandbox", engine)
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]
    built, changed, removed = (json.loads(line) for line in ran.stdout.splitlines())
    assert built["secret"] and changed["secret"]
    assert set(changed["machines"]) - set(built["machines"]) == {"web-1"}
    assert of_cluster(built["urns"]) == of_python()
    assert not [urn for urn in removed["left"] if "::aws:ec2/instance" in urn or "$aws:ec2/instance" in urn]


def of_cluster(urns: list[str]) -> set[str]:
    """Return types and names from URNs, without stack, project, stack resource and providers."""
    found = {"::".join(urn.split("::")[2:]) for urn in urns}
    return {each for each in found if not each.startswith("pulumi:")}


def of_python() -> set[str]:
    """Return the same of the Python program with the stack file."""
    config: dict[str, Any] = stack_file_config(REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml")
    return of_cluster([each.urn for each in record("aws-dev", config).resources.values()])
