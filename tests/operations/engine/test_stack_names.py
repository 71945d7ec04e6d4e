"""Names of stacks by the files of a backend: of a folder, and of buckets by stand-ins of the clouds' command lines."""

import json
from pathlib import Path

import pytest

from operations.console.exits import Stop
from operations.engine import stack_names

PREFIX = ".pulumi/stacks/mullion/"


def test_a_folder_names_its_stacks_once_without_copies_and_attributes(tmp_path: Path) -> None:
    folder = tmp_path / "of mine" / PREFIX
    folder.mkdir(parents=True)
    for name in ("a.json", "a.json.bak", "a.json.attrs", "b.json.gz", "c.json.zst", "c.json", "d.json.bak"):
        (folder / name).write_text("{")
    assert stack_names.of_files((tmp_path / "of mine").as_uri()) == ["a", "b", "c"]


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("url", "program", "answer", "arguments"),
    [
        (
            "s3://state/team?region=eu-west-1&endpoint=127.0.0.1:9&disableSSL=true",
            "aws",
            [f"team/{PREFIX}one.json", f"team/{PREFIX}one.json.bak"],
            f"s3api list-objects-v2 --region eu-west-1 --endpoint-url http://127.0.0.1:9 --bucket state --prefix team/",
        ),
        ("s3://state", "aws", None, f"s3api list-objects-v2 --bucket state --prefix {PREFIX} --query Contents[].Key"),
        (
            "azblob://state?storage_account=mine",
            "az",
            [f"{PREFIX}one.json"],
            f"storage blob list --account-name mine --container-name state --prefix {PREFIX} --num-results *",
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
    stand_in = tmp_path / program
    stand_in.write_text(f"#!/bin/sh\necho \"$*\" >{tmp_path}/said\necho '{json.dumps(answer)}'\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert stack_names.of_files(url) == (["one"] if answer else [])
    assert (tmp_path / "said").read_text().startswith(arguments)


def test_a_bucket_that_cannot_be_listed_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Stop, match="aws is not installed"):
        stack_names.of_files("s3://state")
