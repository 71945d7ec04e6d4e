"""Comments of merge requests (GitLab) and pull requests (Azure Repos), with their APIs on loopback."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from operations.stacks.paths import REPOSITORY

from . import azure_runner, gitlab_runner, workspace
from .comment_services import STRANGER, Comments, serving
from .recorded import IDENTITIES, SECRET, recording

pytestmark = pytest.mark.subprocess

SERVICES = pytest.mark.parametrize("service", ["gitlab", "azure"])


def comment(service: str, folder: Path, text: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "preview.md").write_text(text)
    environment = workspace.environment(folder) | variables | {"COMMENT": str(folder / "preview.md")}
    command = [sys.executable, str(REPOSITORY / "ci" / "comment.py"), service]
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


@SERVICES
def test_a_second_run_updates_the_comment_of_the_same_stack(service: str, tmp_path: Path) -> None:
    with serving() as comments:
        comments.written += [{"text": f"talk {index}", "author": STRANGER} for index in range(120)]
        said = [
            comment(service, tmp_path, text, comments.variables).stdout
            for text in ("### Preview of one\nfirst", "### Preview of two\nfirst", "### Preview of one\nsecond")
        ]
    assert said == ["comment written\n", "comment written\n", "comment updated\n"]
    assert len(comments.threads) == 2
    texts = [each["text"].partition("\n")[2] for each in comments.written[120:]]
    assert texts == ["### Preview of one\nsecond", "### Preview of two\nfirst"]


def test_a_thread_of_azure_blocks_no_pull_request(tmp_path: Path) -> None:
    with serving() as comments:
        assert comment("azure", tmp_path, "### Preview", comments.variables).returncode == 0
    assert comments.threads[0]["status"] == 4, "closed"


@SERVICES
def test_a_copied_mark_of_somebody_else_does_not_hide_the_comment(service: str, tmp_path: Path) -> None:
    with serving() as comments:
        comment(service, tmp_path, "### Preview\nfirst", comments.variables)
        comments.written[0]["author"] = STRANGER
        said = comment(service, tmp_path, "### Preview\nsecond", comments.variables)
        again = comment(service, tmp_path, "### Preview\nthird", comments.variables)
    assert (said.stdout, again.stdout) == ("comment written\n", "comment updated\n"), said.stderr
    assert [each["text"].rpartition("\n")[2] for each in comments.written] == ["first", "third"]


@SERVICES
def test_a_refused_token_ends_the_job_with_what_it_needs(service: str, tmp_path: Path) -> None:
    with serving() as comments:
        wrong = comments.variables | {"COMMENT_TOKEN": "wrong-one", "SYSTEM_ACCESSTOKEN": "wrong-one"}
        done = comment(service, tmp_path, "### Preview", wrong)
    assert done.returncode == 1
    assert "no comment was written: 401" in done.stderr
    assert ("scope `api`" if service == "gitlab" else "Contribute to pull requests") in done.stderr
    assert "wrong-one" not in done.stdout + done.stderr
    assert comments.written == []


@pytest.mark.parametrize(
    ("service", "absent"),
    [
        ("gitlab", "COMMENT_TOKEN"),
        ("gitlab", "CI_MERGE_REQUEST_IID"),
        ("azure", "SYSTEM_ACCESSTOKEN"),
        ("azure", "SYSTEM_PULLREQUEST_PULLREQUESTID"),
        ("azure", "BUILD_REPOSITORY_PROVIDER"),
    ],
)
def test_without_a_token_or_a_merge_request_nothing_is_written(service: str, absent: str, tmp_path: Path) -> None:
    with serving() as comments:
        variables = {key: value for key, value in comments.variables.items() if key != absent}
        done = comment(service, tmp_path, "### Preview", variables)
    assert (done.returncode, comments.written) == (0, [])
    assert done.stdout.startswith("no comment: ")


@SERVICES
@pytest.mark.parametrize("code", [0, 3])
def test_a_pipeline_comments_its_preview_also_a_refused_one(
    service: str, code: int, clone: Path, record: Callable[[], list[str]]
) -> None:
    environment = workspace.environment(clone, **recording(clone), RECORDED_CODE=str(code))
    with serving() as comments:
        codes = _gitlab(clone, comments, environment) if service == "gitlab" else _azure(clone, comments, environment)
    assert codes == {"preview": code}
    [written] = comments.written
    assert f"### Preview of {'aws' if service == 'gitlab' else 'azure'}-dev" in written["text"]
    assert ("**Refused**" in written["text"]) is (code == 3)


def _gitlab(clone: Path, comments: Comments, environment: dict[str, str]) -> dict[str, int]:
    own = {"CI_JOB_ID": "42", "CI_PROJECT_DIR": str(clone), "CLOUD": "aws", "IDENTITY": IDENTITIES["aws"]}
    own |= {"CI_PIPELINE_SOURCE": "merge_request_event", **comments.variables}
    ran = gitlab_runner.run(clone, clone / "ci" / "examples" / "gitlab.yml", own, environment)
    return {each.name: each.code for each in ran if each.name == "preview"}


def _azure(clone: Path, comments: Comments, environment: dict[str, str]) -> dict[str, int]:
    own = {"Build.BuildId": "42", "System.JobAttempt": "1", "Build.Reason": "PullRequest"} | SECRET | comments.variables
    del own["SYSTEM_ACCESSTOKEN"], own["COMMENT_TOKEN"]  # only the step that names the token gets it
    text, stack = (clone / "ci" / "examples" / "azure.yml").read_text(), "          stack: azure-dev\n"
    changed = clone / "with-comment.yml"
    changed.write_text(text.replace(stack, f"{stack}          comment: true\n", 1))
    ran = azure_runner.run(clone, changed, own, environment)
    return {each.name: each.code for each in ran if each.name == "preview"}
