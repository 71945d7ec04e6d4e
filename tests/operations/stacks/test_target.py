"""The record of a stack's target, and the sandbox's isolation from real accounts."""

import os
from pathlib import Path

import pytest
import yaml

from operations.console.exits import Exit, Stop
from operations.engine import workspace
from operations.stacks import stack_files, target
from operations.stacks.target import Target

SANDBOX, REAL = Target("sandbox"), Target("aws", "111122223333", "eu-west-1")


def test_a_stack_without_a_record_has_no_target(clone: Path) -> None:
    assert target.recall("small") is None
    target.check("small", SANDBOX)
    target.check("small", REAL)


@pytest.mark.parametrize(
    ("first", "then", "refused"),
    [
        (SANDBOX, SANDBOX, False),
        (SANDBOX, REAL, True),
        (REAL, SANDBOX, True),
        (REAL, REAL, False),
        (REAL, Target("aws", "444455556666", "eu-west-1"), True),
        (REAL, Target("aws", "111122223333", "us-east-1"), True),
        (REAL, Target("aws", "", "eu-west-1"), False),
    ],
)
def test_a_stack_built_in_another_target_is_refused_with_the_fix(
    clone: Path, first: Target, then: Target, refused: bool
) -> None:
    target.remember("small", first)
    assert target.recall("small") == first
    if not refused:
        target.check("small", then)
        return
    with pytest.raises(Stop, match="mullion down small") as stop:
        target.check("small", then)
    assert stop.value.code is Exit.REFUSED
    if SANDBOX in (first, then):
        words = "add --sandbox" if first == SANDBOX else "leave out --sandbox"
        assert f"To use it there, {words}. To build it here, remove it there first" in str(stop.value)
    # a record corrected as the message says is accepted
    path, _, record = str(stop.value).rpartition("correct ")[2].partition(": ")
    Path(path).write_text(record)
    target.check("small", then)
    assert target.recall("small") == then


def test_a_stack_can_be_built_in_another_target_after_forget(clone: Path) -> None:
    target.remember("small", SANDBOX)
    target.forget("small")
    target.check("small", REAL)


@pytest.mark.parametrize("built_in", [SANDBOX, REAL])
def test_each_run_is_recorded_and_keeps_the_target(clone: Path, built_in: Target) -> None:
    assert target.began("small") == 0
    target.remember("small", built_in)
    os.utime(target.folder("small") / "world.json", (1, 1))
    first = target.began("small")
    target.remember("small", Target("azure"))
    assert target.began("small") > first
    assert target.recall("small") == built_in


def test_a_built_stack_is_found_after_its_file_is_deleted(clone: Path) -> None:
    target.remember("lost", SANDBOX)
    target.remember("small", SANDBOX)
    assert [name for name in ("lost", "small", "never", "../lost", "x/../lost") if stack_files.gone(name)] == ["lost"]
    assert stack_files.config("lost") == {}, "`down` needs none"
    assert workspace.sandbox_config("lost") == {"mullion:world": "sandbox"}
    assert workspace._lay_out("lost").is_dir()
    with pytest.raises(Stop, match=r"there is no stack 'lost'.*To write a new one: mullion new lost --cloud aws"):
        stack_files.load("lost")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"world": "awss"}', '{"world": "aws", "account": 111122223333}'])
def test_an_unreadable_record_is_refused_with_what_to_write(text: str, clone: Path) -> None:
    target.remember("small", SANDBOX)
    path = target.folder("small") / "world.json"
    path.write_text(text)
    with pytest.raises(Stop, match=f"{path} cannot be read .*; write "):
        target.recall("small")


def test_records_have_mode_0600_and_are_replaced_as_a_whole(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = target.folder("small") / "kubeconfig"
    target.write(path, "first")
    assert path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        target.write(path, "second")
    assert path.read_text() == "first"
    assert len(list(path.parent.iterdir())) == 1, "no half-written file stays"


LEAKS = {
    "AWS_ACCESS_KEY_ID": "AKIA",
    "AWS_SECRET_ACCESS_KEY": "s",
    "AWS_SESSION_TOKEN": "s",
    "AWS_PROFILE": "prod",
    "AWS_ROLE_ARN": "a",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/f",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "u",
    "AWS_ENDPOINT_URL": "u",
    "ARM_CLIENT_SECRET": "s",
    "AZURE_CLIENT_SECRET": "s",
    "GOOGLE_CREDENTIALS": "s",
    "GOOGLE_OAUTH_ACCESS_TOKEN": "s",
    "GCLOUD_KEYFILE_JSON": "s",
    "CLOUDSDK_AUTH_ACCESS_TOKEN": "s",
    "PULUMI_ACCESS_TOKEN": "s",
    "PULUMI_CONFIG_PASSPHRASE": "s",
    "PULUMI_BACKEND_URL": "s3://elsewhere",
    "PULUMI_CONFIG": "{}",
}


def test_credentials_are_removed_from_the_environment_of_the_engine_in_the_sandbox_and_restored_afterwards(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LEAKS.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with workspace.environment(workspace.REMOVED, workspace.sandbox_environment(clone)):
        inside = dict(os.environ)
    assert not {name for name, value in LEAKS.items() if inside.get(name) == value}
    assert inside["AWS_SHARED_CREDENTIALS_FILE"] == inside["AWS_CONFIG_FILE"] == os.devnull
    assert inside["AWS_EC2_METADATA_DISABLED"] == "true"
    assert inside["PULUMI_BACKEND_URL"].startswith(clone.as_uri())
    assert inside["PATH"] == before["PATH"]
    assert dict(os.environ) == before


def test_the_sandbox_runs_a_copy_of_the_stack_file_without_settings_of_providers(clone: Path) -> None:
    path = clone / "stacks" / "Pulumi.small.yaml"
    path.write_text(path.read_text() + "  aws:secretKey: {secure: v1:abc}\n  aws:accessKey: AKIA\n")
    before = path.read_bytes()
    folder = workspace._lay_out("small")
    copy = folder / "stacks" / "Pulumi.small.yaml"
    config = yaml.safe_load(copy.read_text())["config"]
    assert set(config) == {"aws:region", "mullion:cluster", "mullion:world"}
    assert config["mullion:world"] == "sandbox"
    assert path.read_bytes() == before
    assert (folder.parent / "passphrase").stat().st_mode & 0o777 == 0o600
    assert folder.parent.stat().st_mode & 0o777 == 0o700

    copy.write_text(copy.read_text() + "encryptionsalt: v1:kept\n")
    passphrase = (folder.parent / "passphrase").read_text()
    workspace._lay_out("small")
    assert yaml.safe_load(copy.read_text())["encryptionsalt"] == "v1:kept", "else the state could not be read again"
    assert (folder.parent / "passphrase").read_text() == passphrase
