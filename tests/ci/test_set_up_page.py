"""docs/ci.md: the set-up of the clouds and the services has what the pipelines need."""

import re
import subprocess

import pytest

from operations.engine import backend_files
from operations.stacks.paths import REPOSITORY

PAGE = (REPOSITORY / "docs" / "ci.md").read_text("utf-8")
BUCKETS = {
    "s3": ("aws s3api create-bucket", "Status=Enabled", '"s3:PutObject"'),
    "azblob": (
        "az storage container-rm create",
        "--enable-versioning true",
        'az role assignment create --assignee APP --role "Storage Blob Data Contributor" --scope',
    ),
    "gs": ("gcloud storage buckets create", "--versioning", "roles/storage.objectUser"),
}
"""By scheme: what creates the bucket, what keeps versions, and what lets the identity write it."""


def section(title: str) -> str:
    """Return the text below a heading, with the headings below it, up to the next one of its level."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", PAGE, re.MULTILINE)
    assert found, title
    rest = PAGE[found.end() :]
    following = re.search(rf"^#{{2,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


@pytest.mark.parametrize("scheme", BUCKETS)
def test_each_clouds_bucket_of_states_is_created_opened_to_the_identity_and_named(scheme: str) -> None:
    steps = section("3. Let the cloud trust the fork") + section("5. A bucket for the state")
    for words in BUCKETS[scheme]:
        assert words in steps, words
    urls = {"s3": r"`s3://[\w-]+\?region=", "azblob": r"`azblob://[\w-]+\?storage_account=", "gs": r"`gs://[\w-]+`"}
    assert re.search(urls[scheme], section("5. A bucket for the state"))
    assert set(urls) == set(backend_files.BUCKETS)


@pytest.mark.subprocess
def test_the_commands_of_the_page_are_valid_bash() -> None:
    for block in re.findall(r"^```\n((?:aws|az|gcloud|for|cat|gh|openssl) .*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (block, done.stderr)
