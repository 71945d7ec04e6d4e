"""The command that removes a kept bucket on AWS, run by a shell with a stand-in for the AWS command line."""

import re
import subprocess
from pathlib import Path
from typing import Any

import jmespath
import pytest

from operations.clouds import cloud_tables

pytestmark = pytest.mark.subprocess

STAND_IN = 'aws() { echo "$*" >> calls; if [ "$2" = list-object-versions ]; then cat rows; fi; }; '
VERSIONS = [{"Key": "1.db", "VersionId": "a", "IsLatest": False}, {"Key": "1.db", "VersionId": "b", "IsLatest": True}]
MARKERS = [{"Key": "2.db", "VersionId": "c", "IsLatest": True}]
ANSWERS: list[dict[str, Any]] = [{}, {"Versions": VERSIONS}, {"Versions": VERSIONS, "DeleteMarkers": MARKERS}]


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_command_deletes_all_versions_and_delete_markers_before_the_bucket(
    answer: dict[str, Any], tmp_path: Path
) -> None:
    """S3 refuses to delete a bucket that has either; the answer's form is that of ListObjectVersions."""
    command = cloud_tables.AWS.removal.format("dev-snapshots", "dev-snapshots")
    query = re.search(r"--query '(.*?)'", command)
    rows = jmespath.search(query[1], answer) if query else []
    (tmp_path / "rows").write_text("".join("\t".join(row) + "\n" for row in rows))
    subprocess.run(["bash", "-c", STAND_IN + command], cwd=tmp_path, check=True)
    first, *deletions, last = (tmp_path / "calls").read_text().splitlines()
    assert first.startswith("s3api list-object-versions --bucket dev-snapshots --output text")
    there = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
    called = "s3api delete-object --bucket dev-snapshots --key {Key} --version-id {VersionId}"
    assert deletions == [called.format(**each) for each in there]
    assert last == "s3api delete-bucket --bucket dev-snapshots"
