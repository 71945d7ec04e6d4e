"""Missing requirements of a real account, all reported before the first question."""

from pathlib import Path

import pytest

from operations.console.exits import Exit, Stop
from operations.engine import workspace
from tests.operations.conftest import STACK


@pytest.fixture(autouse=True)
def empty(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without a backend or a passphrase."""
    for name in (
        "PULUMI_BACKEND_URL",
        "PULUMI_CONFIG_PASSPHRASE",
        "PULUMI_CONFIG_PASSPHRASE_FILE",
        "PULUMI_ACCESS_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(clone / "pulumi"))


def test_a_missing_backend_and_a_missing_passphrase_are_reported(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stop, match="pulumi login") as stop:
        workspace.refuse_unusable("small")
    assert stop.value.code is Exit.USAGE
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///tmp")
    with pytest.raises(Stop, match="set PULUMI_CONFIG_PASSPHRASE_FILE"):
        workspace.refuse_unusable("small")


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        (STACK, {"PULUMI_BACKEND_URL": "https://api.pulumi.com"}),
        (STACK, {"PULUMI_ACCESS_TOKEN": "pul-1"}),
        (STACK, {"PULUMI_BACKEND_URL": "file:///tmp", "PULUMI_CONFIG_PASSPHRASE": "correct horse"}),
        (
            f"secretsprovider: awskms://alias/x\n{STACK}",
            {"PULUMI_BACKEND_URL": "s3://b", "PULUMI_CONFIG_PASSPHRASE": ""},
        ),
        (f"secretsprovider: awskms://alias/x\n{STACK}", {"PULUMI_BACKEND_URL": "s3://states"}),
    ],
)
def test_a_complete_environment_is_accepted(
    text: str, environment: dict[str, str], clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(text)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    workspace.refuse_unusable("small")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "PULUMI_CONFIG_PASSPHRASE is empty"),
        (" \n", "is empty"),
        ("$(MULLION_PASSPHRASE)", r"the text \$\(MULLION"),
    ],
)
@pytest.mark.parametrize("by_file", [False, True])
def test_a_passphrase_that_is_no_secret_is_refused(
    by_file: bool, text: str, says: str, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline without the secret sets such a text, and the engine accepts it."""
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://states")
    (clone / "passphrase").write_text(text)
    if by_file:
        monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", str(clone / "passphrase"))
        says = says.replace("PULUMI_CONFIG_PASSPHRASE", "passphrase")
    else:
        monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", text)
    with pytest.raises(Stop, match=says) as stop:
        workspace.refuse_unusable("small")
    assert stop.value.code is Exit.USAGE


def test_a_passphrase_file_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://states")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", "/nowhere/passphrase")
    with pytest.raises(Stop, match="/nowhere/passphrase cannot be read"):
        workspace.refuse_unusable("small")


def test_a_backend_in_pulumi_yaml_needs_no_login(clone: Path) -> None:
    with (clone / "Pulumi.yaml").open("a") as project:
        project.write("\nbackend: {url: https://api.pulumi.com}\n")
    workspace.refuse_unusable("small")
