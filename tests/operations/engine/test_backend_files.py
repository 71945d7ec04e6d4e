"""Files of backends: of a folder, and of buckets by stand-ins of the clouds' command lines."""

import json
from pathlib import Path

import pytest

from operations.console.exits import Stop
from operations.engine import backend_files

PREFIX = ".pulumi/stacks/mullion/"


def stand_in(monkeypatch: pytest.MonkeyPatch, program: Path, does: str) -> None:
    """Put a program first on PATH that writes its arguments into the file `said` beside it."""
    program.write_text(f'#!/bin/sh\necho "$*" >{program.parent}/said\n{does}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def test_a_folder_names_its_stacks_once_without_copies_and_attributes(tmp_path: Path) -> None:
    folder = tmp_path / "of mine" / PREFIX
    folder.mkdir(parents=True)
    for name in ("a.json", "a.json.bak", "a.json.attrs", "b.json.gz", "c.json.zst", "c.json", "d.json.bak"):
        (folder / name).write_text("{")
    assert backend_files.stacks((tmp_path / "of mine").as_uri()) == ["a", "b", "c"]


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("url", "program", "answer", "arguments"),
    [
        (
            "s3://state/team?region=eu-west-1&endpoint=127.0.0.1:9&disableSSL=true",
            "aws",
            [f"team/{PREFIX}one.json", f"team/{PREFIX}one.json.bak"],
            "s3api list-objects-v2 --region eu-west-1 --endpoint-url http://127.0.0.1:9 --bucket state --prefix team/",
        ),
        ("s3://state", "aws", None, f"s3api list-objects-v2 --bucket state --prefix {PREFIX} --query Contents[].Key"),
        (
            "azblob://state?storage_account=mine",
            "az",
            [f"{PREFIX}one.json"],
            f"storage blob list --auth-mode login --account-name mine --container-name state --prefix {PREFIX} --num",
        ),
        (
            "gs://state",
            "gcloud",
            [{"url": f"gs://state/{PREFIX}one.json#17", "type": "cloud_object"}],
            f"storage ls --json gs://state/{PREFIX}*",
        ),
    ],
)
def test_a_bucket_is_listed_by_the_clouds_command_line(
    url: str, program: str, answer: object, arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path / program, f"echo '{json.dumps(answer)}'")
    assert backend_files.stacks(url) == (["one"] if answer else [])
    assert (tmp_path / "said").read_text().startswith(arguments)


def test_a_bucket_that_cannot_be_listed_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Stop, match="aws is not installed"):
        backend_files.stacks("s3://state")


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("url", "program", "arguments"),
    [
        ("s3://b/t/1.json?region=eu-west-1", "aws", "s3api delete-object --region eu-west-1 --bucket b --key t/1.json"),
        (
            "azblob://b/1.json?storage_account=mine",
            "az",
            "storage blob delete --auth-mode login --account-name mine --container-name b --name 1.json",
        ),
        ("gs://b/1.json", "gcloud", "storage rm gs://b/1.json"),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_one_file_of_a_bucket_is_deleted_and_a_failure_is_known(
    url: str, program: str, arguments: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path / program, f"exit {code}")
    assert backend_files.delete(url) is (code == 0)
    assert (tmp_path / "said").read_text().strip() == arguments


def test_a_file_of_a_folder_is_deleted_and_other_backends_have_none(tmp_path: Path) -> None:
    file = tmp_path / "1.json"
    file.touch()
    assert backend_files.delete(file.as_uri())
    assert not file.exists()
    assert not backend_files.delete("https://api.pulumi.com/x")
