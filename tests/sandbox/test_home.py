"""The engine home of the sandbox."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import home
from sandbox.clouds import CLOUDS
from sandbox.home import install, provider_version


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_plugin_is_in_the_folder_of_the_sdks_version(tmp_path, cloud) -> None:
    name, sdk, _ = CLOUDS[cloud]
    found = importlib.util.find_spec(sdk)
    assert found
    folder = next(iter(found.submodule_search_locations or ()))
    version = json.loads(Path(folder, "pulumi-plugin.json").read_text())["version"]
    assert provider_version(sdk) == version
    assert install(tmp_path) == tmp_path
    program = tmp_path / "plugins" / f"resource-{name}-v{version}" / f"pulumi-resource-{name}"
    assert os.access(program, os.X_OK)
    assert len(list(tmp_path.rglob("pulumi-resource-*"))) == len(CLOUDS)


def test_no_plugin_is_installed_for_a_cloud_without_sdk(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(home, "CLOUDS", {**CLOUDS, "gcp": CLOUDS["gcp"]._replace(sdk="pulumi_nothing")})
    install(tmp_path)
    assert not list(tmp_path.rglob("pulumi-resource-gcp"))
    assert list(tmp_path.rglob("pulumi-resource-aws"))


def test_a_second_installation_changes_nothing_but_edited_files(tmp_path) -> None:
    [program] = install(tmp_path).rglob("pulumi-resource-aws")
    first, written = program.read_text(), program.stat().st_mtime_ns
    install(tmp_path)
    assert program.stat().st_mtime_ns == written
    program.write_text("#!/bin/sh\nexec /elsewhere/python\n")
    install(tmp_path)
    assert program.read_text() == first, "an environment that moved is found again"


def test_a_missing_sdk_is_reported_by_name() -> None:
    with pytest.raises(ModuleNotFoundError, match="the Pulumi SDK pulumi_nothing is not installed"):
        provider_version("pulumi_nothing")


@pytest.mark.subprocess
def test_the_plugin_fails_without_a_cloud_state_and_imports_no_sdk(tmp_path) -> None:
    [program] = install(tmp_path / "with space").rglob("pulumi-resource-aws")
    environment = {name: value for name, value in os.environ.items() if name != "MULLION_SANDBOX_WORLD"}
    run = subprocess.run([program, "127.0.0.1:1"], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "MULLION_SANDBOX_WORLD is not set" in run.stderr
    code = (
        "import sys, sandbox.plugin; from sandbox.clouds import CLOUDS, of\n"
        "for name in CLOUDS: of(name)\n"
        "sys.exit(any(part.sdk in sys.modules for part in CLOUDS.values()))"
    )
    checked = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], timeout=60)
    assert checked.returncode == 0, "importing the SDK would cost each start of the plugin a second"
