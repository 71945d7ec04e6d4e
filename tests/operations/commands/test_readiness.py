"""What this machine lacks for a real account is named before the first question."""

from pathlib import Path

import pytest

from components.clouds import CLOUDS
from operations.commands import readiness
from sandbox import home


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without credentials and plug-ins."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for source in readiness.CREDENTIALS.values():
        for name in (*source.variables, *(variable for variable, _, _ in source.files)):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize("cloud", CLOUDS)
def test_missing_credentials_and_plug_in_are_named_with_what_to_do(cloud: str) -> None:
    credentials, plugin = readiness.lacks(cloud)
    assert credentials.startswith(f"no credentials for {CLOUDS[cloud].title} on this machine: run `")
    assert "is not installed: the engine downloads it first" in plugin


@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_installed_plug_in_is_not_named(cloud: str, bare: Path) -> None:
    home.install(bare / ".pulumi")
    (lack,) = readiness.lacks(cloud)
    assert "no credentials" in lack


@pytest.mark.parametrize(
    ("cloud", "file"),
    [
        ("aws", ".aws/config"),
        ("aws", ".aws/credentials"),
        ("azure", ".azure/azureProfile.json"),
        ("gcp", ".config/gcloud/application_default_credentials.json"),
    ],
)
def test_a_file_of_credentials_suffices(cloud: str, file: str, bare: Path) -> None:
    (bare / file).parent.mkdir(parents=True)
    (bare / file).touch()
    (lack,) = readiness.lacks(cloud)
    assert "plug-in" in lack


@pytest.mark.parametrize(
    ("cloud", "variable"), [(cloud, name) for cloud, row in readiness.CREDENTIALS.items() for name in row.variables]
)
def test_a_variable_with_credentials_suffices(cloud: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "something")
    (lack,) = readiness.lacks(cloud)
    assert "plug-in" in lack


def test_a_folder_that_a_variable_names_is_looked_into(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "own").mkdir()
    (bare / "own" / "azureProfile.json").touch()
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(bare / "own"))
    (lack,) = readiness.lacks("azure")
    assert "plug-in" in lack
