"""SDKs that the engine's generators make of components/schema.json compile, and refuse a misspelt input."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from operations.stacks.paths import REPOSITORY

pytestmark = [pytest.mark.lab, pytest.mark.soak]
EXAMPLES = REPOSITORY / "examples"
USE = """import * as mullion from "./index";
const pools = { web: { os: mullion.OperatingSystem.WINDOWS_2022, count: 1 } };
const cluster = new mullion.MixedCluster("demo", { cloud: "aws", kubernetes: "1.36.4", controlPlane: {}, pools });
export const kubeconfig = cluster.kubeconfig;
"""


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def sdks(tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str, str], NoReturn]) -> Path:
    """Give a folder with the generated SDKs: `go` and `nodejs`."""
    for program in ("go", "npm"):
        if not shutil.which(program):
            missing("languages", f"there is no {program} here")
    folder = tmp_path_factory.mktemp("sdks")
    built = ran(
        REPOSITORY / "tools" / "pulumi-yaml", "go", "build", "-mod=readonly", "-o", str(folder / "sdks"), "./sdks"
    )
    assert built.returncode == 0, built.stderr
    made = ran(folder, "./sdks", str(REPOSITORY / "components" / "schema.json"), str(folder))
    assert made.returncode == 0, made.stderr
    return folder


def test_the_go_sdk_compiles(sdks: Path) -> None:
    pins = (EXAMPLES / "go" / "go.mod").read_text("utf-8")
    (sdks / "go" / "go.mod").write_text(pins.replace("module example", "module example.com/pulumi-mullion/sdk/go", 1))
    shutil.copy(EXAMPLES / "go" / "go.sum", sdks / "go")
    vetted = ran(sdks / "go", "go", "vet", "-mod=mod", "./...")
    assert vetted.returncode == 0, vetted.stderr


def test_the_typescript_sdk_compiles_and_refuses_a_misspelt_input(sdks: Path) -> None:
    folder = sdks / "nodejs"
    shutil.copy(EXAMPLES / "typescript" / "package.json", folder)
    installed = ran(folder, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
    assert installed.returncode == 0, installed.stderr
    options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs"]
    (folder / "use.ts").write_text(USE)
    compiled = ran(folder, "npx", "tsc", *options, "--types", "node", "use.ts")
    assert compiled.returncode == 0, compiled.stdout
    (folder / "use.ts").write_text(USE.replace("kubernetes:", "kubernetis:"))
    assert (
        "Did you mean to write 'kubernetes'?" in ran(folder, "npx", "tsc", *options, "--types", "node", "use.ts").stdout
    )
