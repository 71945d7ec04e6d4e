"""docs/ci.md: the set-up of the clouds and the services has what the pipelines need."""

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from operations.engine import backend_files
from operations.stacks.paths import REPOSITORY

from . import workspace

PAGE, SET_UP = ((REPOSITORY / "docs" / name).read_text("utf-8") for name in ("ci.md", "ci-set-up.md"))
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
    blocks = re.findall(
        r"^```\n((?:aws|az|gcloud|for|cat|gh|openssl|APP)\b.*?)^```", PAGE + SET_UP, re.MULTILINE | re.DOTALL
    )
    assert len(blocks) > 12
    for block in blocks:
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (block, done.stderr)


def rows(heading: str) -> dict[str, list[str]]:
    """Return the rows of the table with this head, by their first cell."""
    lines = SET_UP[SET_UP.index(heading) :].splitlines()[2:]
    cells = [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines[: lines.index("")]]
    return {first: rest for first, *rest in cells}


@pytest.mark.subprocess
@pytest.mark.parametrize(("column", "cloud"), list(enumerate(("aws", "azure", "gcp"))))
def test_gitlabs_variables_have_a_value_for_each_cloud_that_the_script_takes(
    column: int, cloud: str, tmp_path: Path
) -> None:
    table = rows("| variable | AWS | Azure | Google Cloud |")
    needed = ("CLOUD", "IDENTITY", "OIDC_AUDIENCE", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE")
    values = {name: table[name][column] for name in needed}
    assert values["CLOUD"] == cloud
    environment = workspace.environment(tmp_path, **values, OIDC_TOKEN="a.b.c", TMPDIR=str(tmp_path))
    words = ["bash", str(REPOSITORY / "ci" / "credentials.sh")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert urlsplit(values["PULUMI_BACKEND_URL"]).scheme in backend_files.BUCKETS


def test_the_steps_of_azure_pipelines_name_all_that_the_example_needs() -> None:
    table = rows("| name | where | value on Azure |")
    example = yaml.safe_load((REPOSITORY / "ci" / "examples" / "azure.yml").read_text())
    assert set(example["variables"]) <= set(table)
    steps = SET_UP[SET_UP.index("## Azure Pipelines") :]
    for words in ("Service connections", "--role Mullion", "MULLION_PASSPHRASE", "Exclusive lock", "Build validation"):
        assert words in steps, words


def test_each_job_of_gitlabs_example_that_waits_for_a_task_has_a_schedule() -> None:
    example = yaml.safe_load((REPOSITORY / "ci" / "examples" / "gitlab.yml").read_text())
    rules = [rule["if"] for job in example.values() if isinstance(job, dict) for rule in job.get("rules", [])]
    tasks = {found[1] for rule in rules if (found := re.fullmatch(r'\$TASK == "(\w+)"', rule))}
    assert tasks == set(re.findall(r"`TASK` = `(\w+)`", SET_UP))


def test_the_example_of_temporary_clusters_builds_none_that_stays() -> None:
    """Who copied it and merged had a cluster that no reaper removes."""
    used = {}
    for name in ("github", "github-long-lived"):
        example = yaml.safe_load((REPOSITORY / "ci" / "examples" / f"{name}.yml").read_text())
        used[name] = {job["uses"].rpartition("/")[2].removesuffix(".yml") for job in example["jobs"].values()}
    assert used == {"github": {"test-cluster", "preview", "reap"}, "github-long-lived": {"apply", "drift", "bake"}}
    assert "cp ci/examples/github-long-lived.yml" in section("A long-lived cluster")


def test_step_5_warns_of_runners_in_the_clusters_region_on_azure() -> None:
    text = " ".join(section("5. A bucket for the state").split())
    assert "AuthorizationFailure" in text
    assert "azure.md#from-a-virtual-machine-in-the-same-region" in text
