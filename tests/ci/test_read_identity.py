"""Preview and drift sign in with an identity that only reads, if there is one; other jobs never do."""

from pathlib import Path

import pytest

from . import azure_runner, gitlab_runner, workspace
from .github_runner import GitHub
from .recorded import CLUSTERS, DISPATCH, SECRET, example, recording

pytestmark = pytest.mark.subprocess

OWN, READER = "arn:aws:iam::111122223333:role/ci", "arn:aws:iam::111122223333:role/reader"


@pytest.mark.parametrize("given", [{}, {"MULLION_READ_IDENTITY": READER}], ids=["none", "a reader"])
@pytest.mark.parametrize(
    ("job", "event_name", "event", "read"),
    [
        ("test", "pull_request", DISPATCH, [False]),
        ("preview", "pull_request", DISPATCH, [True]),
        ("apply", "push", {}, [True, False]),
        ("drift", "schedule", {"schedule": "43 2 * * *"}, [True]),
        ("bake", "schedule", {"schedule": "29 3 * * 0"}, [False]),
        ("reap", "schedule", {"schedule": "17 * * * *"}, [False]),
    ],
)
def test_github_reads_with_the_identity_that_only_reads(
    job: str, event_name: str, event: dict[str, object], read: list[bool], given: dict[str, str], clone: Path
) -> None:
    (clone / CLUSTERS).write_text(example(clone, job))
    secrets = {"MULLION_IDENTITY": OWN, "MULLION_PASSPHRASE": "correct horse", **given}
    hub = GitHub(
        clone, event_name, event, secrets=secrets, environment=workspace.environment(clone, **recording(clone))
    )
    hub.run(CLUSTERS, only={job})
    roles = [each["role-to-assume"] for each in hub.signed_in]
    assert roles == [READER if only and given else OWN for only in read]


@pytest.mark.parametrize("given", [{}, {"READ_IDENTITY": READER}], ids=["none", "a reader"])
@pytest.mark.parametrize(
    ("variables", "read"),
    [
        ({"CI_PIPELINE_SOURCE": "merge_request_event"}, {"test": False, "preview": True}),
        (
            {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"},
            {"apply-preview": True, "apply": False},
        ),
        ({"TASK": "drift"}, {"drift": True}),
        ({"TASK": "bake"}, {"bake": False}),
        ({"TASK": "reap"}, {"reap": False}),
    ],
)
def test_gitlab_reads_with_the_identity_that_only_reads(
    variables: dict[str, str], read: dict[str, bool], given: dict[str, str], clone: Path
) -> None:
    script = clone / "ci" / "credentials.sh"
    original = script.read_bytes()
    script.write_text('#!/bin/bash\necho "echo signed in as $IDENTITY"\n')
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": OWN, **variables, **given}
    environment = workspace.environment(clone, **recording(clone))
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    script.write_bytes(original)
    assert {each.name: each.code for each in ran} == dict.fromkeys(read, 0)
    for job in ran:
        lines = {line for line in job.output.splitlines() if line.startswith("signed in as ")}
        assert lines == {f"signed in as {READER if read[job.name] and given else OWN}"}


@pytest.mark.parametrize("reader", ["", "reader"])
def test_azure_pipelines_previews_with_the_connection_that_only_reads(reader: str, clone: Path) -> None:
    text, stack = (clone / "ci" / "examples" / "azure.yml").read_text(), "      environment: production\n"
    changed = clone / "with-reader.yml"
    line = f"      previewConnection: {reader}\n" if reader else ""
    assert stack in text
    changed.write_text(text.replace(stack, f"{stack}{line}"))
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", **SECRET, "Build.Reason": "IndividualCI"}
    ran = azure_runner.run(clone, changed, own, workspace.environment(clone, **recording(clone)))
    assert [each.connections for each in ran] == [{reader or "mullion"}, {"mullion"}]
