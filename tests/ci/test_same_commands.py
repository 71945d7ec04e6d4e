"""GitLab CI and Azure Pipelines give `mullion` the same commands as GitHub; the command itself is a recorder here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.test_commands import mistakes

from . import azure_runner, gitlab_runner, steps, workspace
from .expressions import FUNCTIONS, Evaluation, Unknown
from .github_runner import GitHub
from .recorded import CLUSTERS, COMMANDS, DISPATCH, IDENTITIES, SECRET, example, recording

pytestmark = pytest.mark.subprocess


def test_the_commands_exist() -> None:
    commands = [each.partition(" -- ")[0] for listed in COMMANDS.values() for each in listed]
    assert [wrong for each in commands for wrong in mistakes(f"mullion {each}")] == []


@pytest.mark.parametrize(
    ("job", "event_name", "event"),
    [
        ("test", "pull_request", DISPATCH),
        ("preview", "pull_request", DISPATCH),
        ("apply", "push", {}),
        ("drift", "schedule", {"schedule": "43 2 * * *"}),
        ("bake", "schedule", {"schedule": "29 3 * * 0"}),
        ("reap", "schedule", {"schedule": "17 * * * *"}),
    ],
)
@pytest.mark.parametrize("cloud", IDENTITIES)
def test_github_signs_in_without_keys_and_gives_mullion_the_command(
    cloud: str, job: str, event_name: str, event: dict[str, object], clone: Path, record: Callable[[], list[str]]
) -> None:
    text = example(clone, job)
    (clone / CLUSTERS).write_text(text.replace("cloud: aws\n", f"cloud: {cloud}\n"))
    secrets = {"MULLION_IDENTITY": IDENTITIES[cloud], "MULLION_PASSPHRASE": "correct horse"}
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, event_name, event, secrets=secrets, environment=environment)
    # without GitHub's API only the job that comments fails
    assert hub.run(CLUSTERS, only={job})[job] == ("failure" if job == "preview" else "success"), hub.jobs[0].output
    assert record() == ([*COMMANDS["preview"], *COMMANDS["apply"]] if job == "apply" else COMMANDS[job])
    given = {value for signed in hub.signed_in for value in signed.values()}
    assert set(IDENTITIES[cloud].split()) <= given
    assert "correct horse" not in "".join(given)
    assert len(hub.signed_in) == (2 if job == "apply" else 1)
    if cloud == "azure":
        assert hub.jobs[0].environment["ARM_CLIENT_ID"] == "client"


def test_a_pull_request_from_another_repository_starts_nothing(clone: Path, record: Callable[[], list[str]]) -> None:
    (clone / CLUSTERS).write_text(example(clone))
    event = {"pull_request": {**DISPATCH["pull_request"], "head": {"repo": {"full_name": "stranger/mullion"}}}}
    hub = GitHub(clone, "pull_request", event, environment=workspace.environment(clone, **recording(clone)))
    assert set(hub.run(CLUSTERS).values()) == {"skipped"}
    assert record() == []


def test_a_pull_request_of_dependabot_starts_nothing(clone: Path, record: Callable[[], list[str]]) -> None:
    """GitHub gives its runs Dependabot's secrets, not those of the repository: they would fail without a passphrase."""
    (clone / CLUSTERS).write_text(example(clone))
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, "pull_request", DISPATCH, environment=environment, actor="dependabot[bot]")
    assert set(hub.run(CLUSTERS).values()) == {"skipped"}
    assert record() == []


OWN, TEST, READER = (f"arn:aws:iam::111122223333:role/{name}" for name in ("writer", "test", "reader"))


@pytest.mark.parametrize(
    ("job", "event_name", "event", "roles"),
    [
        ("test", "pull_request", DISPATCH, [TEST]),
        ("apply", "push", {}, [READER, OWN]),
        ("reap", "schedule", {"schedule": "17 * * * *"}, [TEST]),
    ],
)
def test_the_identity_that_writes_is_known_to_the_environment_of_apply_alone(
    job: str, event_name: str, event: dict[str, object], roles: list[str], clone: Path
) -> None:
    """Whoever may push a branch can read the secrets of the repository, but not those of an environment."""
    text = example(clone, job)
    before = "      environment: production\n"
    assert (before in text) is (job == "apply")
    (clone / CLUSTERS).write_text(text.replace(before, f"{before}      preview_environment: preview\n"))
    hub = GitHub(
        clone,
        event_name,
        event,
        secrets={"MULLION_TEST_IDENTITY": TEST, "MULLION_TEST_PASSPHRASE": "of tests"},
        environment_secrets={
            "preview": {"MULLION_READ_IDENTITY": READER, "MULLION_PASSPHRASE": "of dev"},
            "production": {"MULLION_IDENTITY": OWN, "MULLION_PASSPHRASE": "of dev"},
        },
        environment=workspace.environment(clone, **recording(clone)),
    )
    assert hub.run(CLUSTERS, only={job})[job] == "success", hub.jobs[0].output
    assert [each["role-to-assume"] for each in hub.signed_in] == roles


@pytest.mark.parametrize(("code", "result"), [(0, "success"), (3, "failure")])
def test_a_refused_preview_is_still_commented(
    code: int, result: str, clone: Path, record: Callable[[], list[str]]
) -> None:
    (clone / CLUSTERS).write_text(example(clone))
    environment = workspace.environment(clone, **recording(clone), RECORDED_CODE=str(code))
    hub = GitHub(clone, "pull_request", DISPATCH, environment=environment)
    hub.run(CLUSTERS, only={"preview"})
    assert [job.name for job in hub.jobs] == ["preview", "comment"]
    assert hub.jobs[0].result == result
    assert ("**Refused**" in (hub.artifacts["preview-aws-dev"] / "preview.md").read_text()) is (code == 3)
    assert hub.jobs[0].permissions == {"contents": "read", "id-token": "write"}
    assert hub.jobs[1].permissions == {"contents": "read", "pull-requests": "write"}


@pytest.mark.parametrize(
    ("job", "variables"),
    [
        ("test", {"CI_PIPELINE_SOURCE": "merge_request_event"}),
        ("apply", {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}),
        ("drift", {"TASK": "drift", "CI_PIPELINE_SOURCE": "schedule"}),
        ("bake", {"TASK": "bake", "CI_PIPELINE_SOURCE": "schedule"}),
        ("reap", {"TASK": "reap", "CI_PIPELINE_SOURCE": "schedule"}),
    ],
)
def test_gitlab_gives_mullion_the_commands_of_github(
    job: str, variables: dict[str, str], clone: Path, record: Callable[[], list[str]]
) -> None:
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"], **variables}
    environment = workspace.environment(clone, **recording(clone))
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    names = {"test": ["test", "preview"], "apply": ["apply-preview", "apply"]}.get(job, [job])
    assert [(each.name, each.code) for each in ran] == [(name, 0) for name in names], ran
    assert record() == [command for name in names for command in COMMANDS[name.removeprefix("apply-")]]
    assert [each.manual for each in ran] == [name == "apply" for name in names]


def test_gitlab_offers_no_apply_after_a_refused_preview(clone: Path, record: Callable[[], list[str]]) -> None:
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own |= {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}
    environment = workspace.environment(clone, **recording(clone), RECORDED_CODE="3")
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    assert [(each.name, each.code) for each in ran] == [("apply-preview", 3)]
    assert record() == COMMANDS["preview"]


def test_azure_pipelines_asks_for_no_approval_after_a_refused_preview(
    clone: Path, record: Callable[[], list[str]]
) -> None:
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "IndividualCI"}
    environment = workspace.environment(clone, **recording(clone), RECORDED_CODE="3")
    ran = azure_runner.run(clone, clone / "ci" / "examples" / "azure.yml", own, environment)
    assert [(each.name, each.environment, each.code) for each in ran] == [("preview", "", 3)]
    assert record() == [COMMANDS["preview"][0].replace("aws-", "azure-")]


@pytest.mark.parametrize(
    ("jobs", "variables"),
    [
        (("test", "preview"), {"Build.Reason": "PullRequest"}),
        (("preview", "apply"), {"Build.Reason": "IndividualCI"}),
        (("drift",), {"Build.Reason": "Schedule", "Build.CronSchedule.DisplayName": "drift"}),
        (("reap",), {"Build.Reason": "Schedule", "Build.CronSchedule.DisplayName": "reap"}),
    ],
)
def test_azure_pipelines_gives_mullion_the_commands_of_github(
    jobs: tuple[str, ...], variables: dict[str, str], clone: Path, record: Callable[[], list[str]]
) -> None:
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, **variables}
    environment = workspace.environment(clone, **recording(clone))
    ran = azure_runner.run(clone, clone / "ci" / "examples" / "azure.yml", own, environment)
    assert [each.code for each in ran] == [0] * len(jobs), ran
    assert {connection for each in ran for connection in each.connections} == {"mullion"}
    expected = [command.replace("aws-", "azure-") for job in jobs for command in COMMANDS[job]]
    assert record() == expected
    assert [each.environment for each in ran] == ["production" if job == "apply" else "" for job in jobs]


def test_azure_pipelines_bakes_in_the_sandbox(clone: Path, record: Callable[[], list[str]]) -> None:
    """The example has no such job, because the command builds no images on Azure."""
    example = (clone / "ci" / "examples" / "azure.yml").read_text()
    changed = clone / "with-bake.yml"
    called = "      - template: ci/azure/drift.yml\n        parameters:\n          stack: azure-dev\n"
    assert called in example
    sandbox = called.replace("drift.yml", "bake.yml").replace("azure-dev", "aws-dev") + "          sandbox: true\n"
    changed.write_text(example.replace(called, sandbox))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "Schedule"}
    own["Build.CronSchedule.DisplayName"] = "drift"
    ran = azure_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert [each.code for each in ran] == [0]
    assert record() == [f"{each} --sandbox" for each in COMMANDS["bake"]]


HALF = COMMANDS["reap"][0].replace("90m", "45m")
BY_TAGS = [HALF, f"{HALF} --by-tags aws --regions eu-west-1\\,us-east-1"]
"""Both reapers begin removals within the time of the job."""
REGIONS = "eu-west-1,us-east-1"


def test_github_also_removes_clusters_without_a_state(clone: Path, record: Callable[[], list[str]]) -> None:
    text = example(clone)
    called = "uses: ./.github/workflows/reap.yml"
    before, _, after = text.partition(called)
    after = after.replace("      cloud: aws\n", f"      cloud: aws\n      by-tags: aws\n      regions: {REGIONS}\n", 1)
    (clone / CLUSTERS).write_text(f"{before}{called}{after}")
    environment = workspace.environment(clone, **recording(clone))
    hub = GitHub(clone, "schedule", {"schedule": "17 * * * *"}, environment=environment)
    assert hub.run(CLUSTERS, only={"reap"})["reap"] == "success", hub.jobs[0].output
    assert record() == BY_TAGS


def test_gitlab_also_removes_clusters_without_a_state(clone: Path, record: Callable[[], list[str]]) -> None:
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own |= {"TASK": "reap", "CI_PIPELINE_SOURCE": "schedule", "BY_TAGS": "aws", "REGIONS": REGIONS}
    environment = workspace.environment(clone, **recording(clone))
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    assert [each.code for each in ran] == [0]
    assert record() == BY_TAGS


def test_azure_pipelines_also_removes_clusters_without_a_state(clone: Path, record: Callable[[], list[str]]) -> None:
    example = (clone / "ci" / "examples" / "azure.yml").read_text()
    called = "      - template: ci/azure/reap.yml\n        parameters:\n"
    changed = clone / "with-tags.yml"
    changed.write_text(example.replace(called, f"{called}          byTags: aws\n          regions: {REGIONS}\n"))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "Schedule"}
    own["Build.CronSchedule.DisplayName"] = "reap"
    ran = azure_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert [each.code for each in ran] == [0]
    assert record() == BY_TAGS


@pytest.mark.parametrize(("keep", "allow"), [("", "api.allow="), ("1h", "api.allow+=")])
def test_a_cluster_that_may_be_kept_lets_the_people_of_the_template_in(
    keep: str, allow: str, clone: Path, record: Callable[[], list[str]]
) -> None:
    variables = {"TEMPLATE": "aws-ci", "NAME": "ci-1", "TEST": "true", "KEEP": keep}
    environment = workspace.environment(clone, **recording(clone), **variables)
    assert steps.run(["bash", "ci/cluster.sh"], clone, environment).code == 0
    [command] = record()
    assert f"--set {allow}\\[198.51.100.7/32\\]" in command


def test_two_calls_in_one_workflow_have_names_and_concurrency_groups_of_their_own(clone: Path) -> None:
    text = example(clone)
    names, groups = set[str](), set[str]()
    for group in ("a", "b"):
        (clone / CLUSTERS).write_text(text.replace("template: aws-ci\n", f"template: aws-ci\n      group: {group}\n"))
        environment = workspace.environment(clone, **recording(clone))
        hub = GitHub(clone, "workflow_dispatch", {}, environment=environment)
        assert hub.run(CLUSTERS, only={"test"})["test"] == "success", hub.jobs[0].output
        names |= {word for word in (clone / "record").read_text().split() if word.startswith("ci-")}
        groups.add(hub.jobs[0].concurrency["group"])
        (clone / "record").unlink()
    assert names == {"ci-9000000001-1-a0", "ci-9000000001-1-b0"}
    assert len(groups) == 2


@pytest.mark.parametrize(
    "text", ["startsWith('a', 'b')", "env.HOME", "inputs.none", "'a' ~ 'b'", "1 == 1 1", "inputs.one.two"]
)
def test_an_unknown_expression_ends_the_run(text: str) -> None:
    with pytest.raises(Unknown):
        Evaluation(text, {"inputs": {"one": "1"}}, FUNCTIONS).value()
