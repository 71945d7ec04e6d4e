"""Options and matrices of pipelines: what each of GitHub, GitLab CI and Azure Pipelines gives `mullion`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from operations.stacks.paths import REPOSITORY

from . import azure_runner, gitlab_runner, workspace
from .github_runner import GitHub
from .recorded import CLUSTERS, COMMANDS, DISPATCH, IDENTITIES, RUN, SECRET, example, recording

pytestmark = pytest.mark.subprocess

OPTIONS = {
    "settings": "pools.windows.count=2\napi.public=true\n",
    "ttl": "90m",
    "verify": "SMK-02",
    "keep": "1h",
    "pool": "windows",
}
"""Options of a temporary cluster, by the name of GitHub's input; GitLab's variables are the same in capitals."""
OPTED = (
    "run CLOUD-ci --name NAME --ttl 90m --verify SMK-02 --artifacts artifacts "
    "--set pools.windows.os=windows-2022 --set kubernetes=1.36.4 --set pools.windows.count=2 --set api.public=true "
    "--pass-credentials --keep-on-failure 1h --yes -- bash -c kubectl\\ get\\ nodes"
)
"""The command with all options, and without the runner's address."""


def with_inputs(text: str, after: str, inputs: Mapping[str, object], indent: str) -> str:
    """Return a pipeline with more inputs below the line `after`."""
    lines = "".join(f"{indent}{name}: {json.dumps(value)}\n" for name, value in inputs.items())
    assert after in text
    return text.replace(after, f"{after}{lines}", 1)


def test_every_option_of_a_cluster_reaches_mullion_on_github(clone: Path, record: Callable[[], list[str]]) -> None:
    text = example(clone)
    inputs = OPTIONS | {"allow_runner": False, "pass_credentials": True}
    (clone / CLUSTERS).write_text(with_inputs(text, "      template: aws-ci\n", inputs, " " * 6))
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, "pull_request", DISPATCH, environment=environment)
    assert hub.run(CLUSTERS, only={"test"})["test"] == "success", hub.jobs[0].output
    assert record() == [OPTED.replace("CLOUD", "aws")]


def test_every_option_of_a_cluster_reaches_mullion_on_gitlab(clone: Path, record: Callable[[], list[str]]) -> None:
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own |= {"CI_PIPELINE_SOURCE": "merge_request_event", "ALLOW_RUNNER": "false", "PASS_CREDENTIALS": "true"}
    own |= {name.upper(): value for name, value in OPTIONS.items()}
    environment = workspace.environment(clone, **recording(clone))
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    assert [each.code for each in ran] == [0, 0], ran
    assert record()[:1] == [OPTED.replace("CLOUD", "aws")]


def test_every_option_of_a_cluster_reaches_mullion_on_azure_pipelines(
    clone: Path, record: Callable[[], list[str]]
) -> None:
    text = (clone / "ci" / "examples" / "azure.yml").read_text()
    changed = clone / "with-options.yml"
    inputs = OPTIONS | {"allowRunner": False, "passCredentials": True}
    changed.write_text(with_inputs(text, "          template: azure-ci\n", inputs, " " * 10))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "PullRequest"}
    ran = azure_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert [each.code for each in ran] == [0, 0], ran
    assert record()[:1] == [OPTED.replace("CLOUD", "azure")]


def test_the_maximum_of_a_reaper_reaches_mullion(clone: Path, record: Callable[[], list[str]]) -> None:
    expected = [COMMANDS["reap"][0].replace("--max 10", "--max 3")]
    github = example(clone)
    called = "uses: ./.github/workflows/reap.yml"
    before, _, after = github.partition(called)
    (clone / CLUSTERS).write_text(before + called + with_inputs(after, "    with:\n", {"most": "3"}, " " * 6))
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, "schedule", {"schedule": "17 * * * *"}, environment=environment)
    assert hub.run(CLUSTERS, only={"reap"})["reap"] == "success", hub.jobs[0].output
    assert record() == expected
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own |= {"TASK": "reap", "CI_PIPELINE_SOURCE": "schedule", "MOST": "3"}
    gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    assert record() == expected
    azure = (clone / "ci" / "examples" / "azure.yml").read_text()
    changed = clone / "with-most.yml"
    called = "      - template: ci/azure/reap.yml\n        parameters:\n"
    changed.write_text(with_inputs(azure, called, {"most": "3"}, " " * 10))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "Schedule"}
    own["Build.CronSchedule.DisplayName"] = "reap"
    azure_runner.run(clone, changed, own, environment)
    assert record() == expected


SYSTEMS = ["windows-2019", "windows-2022", "windows-2025"]
VERSIONS = ["1.35.4", "1.36.4"]
LEGS = [(system, version) for system in SYSTEMS for version in VERSIONS]
WHOLE = 26
"""Most characters of a cluster's name (.github/actions/cluster/action.yml)."""


def legs(clone: Path, template: str) -> dict[str, tuple[str, str]]:
    """Return system and version by the name of the cluster, and check the rest of each recorded `mullion run`."""
    found = dict[str, tuple[str, str]]()
    for line in (clone / "record").read_text().splitlines():
        words = line.split()
        if words[0] != "run":
            continue
        name, system, version = words[3], words[11].partition("=")[2], words[13].partition("=")[2]
        expected = RUN.replace("aws-ci", template).replace("NAME", name)
        expected = expected.replace("windows-2022", system).replace("1.36.4", version)
        assert line.strip() == expected
        assert len(name) <= WHOLE
        assert name not in found, "each leg needs a cluster of its own"
        found[name] = (system, version)
    return found


def test_every_leg_of_the_matrix_builds_a_cluster_of_its_own_on_github(
    clone: Path, record: Callable[[], list[str]]
) -> None:
    text = example(clone)
    text = text.replace("""'["windows-2022"]'""", f"'{json.dumps(SYSTEMS)}'")
    (clone / CLUSTERS).write_text(text.replace("""'["1.36.4"]'""", f"'{json.dumps(VERSIONS)}'"))
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, "pull_request", DISPATCH, environment=environment)
    assert hub.run(CLUSTERS, only={"test"})["test"] == "success", [job.output for job in hub.jobs]
    found = legs(clone, "aws-ci")
    assert list(found) == [f"ci-9000000001-1-{index}" for index in range(6)]
    assert sorted(found.values()) == LEGS
    assert len({job.concurrency["group"] for job in hub.jobs}) == len(LEGS), "legs must not cancel each other"


def test_every_leg_of_the_matrix_builds_a_cluster_of_its_own_on_gitlab(
    clone: Path, record: Callable[[], list[str]]
) -> None:
    text = (clone / "ci" / "examples" / "gitlab.yml").read_text()
    text = text.replace("WINDOWS: [windows-2022]", f"WINDOWS: {json.dumps(SYSTEMS)}")
    changed = clone / "with-matrix.gitlab.yml"
    changed.write_text(text.replace('KUBERNETES: ["1.36.4"]', f"KUBERNETES: {json.dumps(VERSIONS)}"))
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own["CI_PIPELINE_SOURCE"] = "merge_request_event"
    ran = gitlab_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert {each.code for each in ran} == {0}, ran
    assert list(legs(clone, "aws-ci").items()) == [(f"ci-{42 + index}", leg) for index, leg in enumerate(LEGS)]


def test_every_leg_of_the_matrix_builds_a_cluster_of_its_own_on_azure_pipelines(
    clone: Path, record: Callable[[], list[str]]
) -> None:
    text = (clone / "ci" / "examples" / "azure.yml").read_text()
    text = text.replace("windows: [windows-2022]", f"windows: {json.dumps(SYSTEMS)}")
    changed = clone / "with-matrix.azure.yml"
    changed.write_text(text.replace('kubernetes: ["1.36.4"]', f"kubernetes: {json.dumps(VERSIONS)}"))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "PullRequest"}
    ran = azure_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert {each.code for each in ran} == {0}, ran
    found = legs(clone, "azure-ci")
    assert list(found.items()) == [(f"ci-42-11-{position}", leg) for position, leg in enumerate(LEGS, 1)]
    assert [each.name for each in ran[: len(LEGS)]] == [
        f"on_{system}_{version}".replace("-", "_").replace(".", "_") for system, version in LEGS
    ]


def test_reapers_of_two_backends_do_not_wait_for_each_other() -> None:
    """With one group for a cloud, GitHub cancels the one that waits as soon as a third begins."""
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "reap.yml").read_text())
    assert workflow["concurrency"]["group"] == "reap-${{ inputs.cloud }}-${{ inputs.backend }}"
