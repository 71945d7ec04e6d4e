"""The pipelines of GitHub, in a clean clone with the sandbox as account: build, cancel, reap, apply, drift."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from operations.engine.locate import Engine
from operations.engine.process import end_session
from tests.docs import pages

from . import gitlab_runner, workspace
from .github_runner import GitHub
from .recorded import example

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

CLUSTERS = ".github/workflows/clusters.yml"
NAME = "ci-9000000001-1-0"
SETTINGS = "      cloud: aws\n      region: eu-west-1\n      backend: s3://YOUR-BUCKET?region=eu-west-1\n"
"""Lines of the example that docs/ci.md replaces, to try it without an account."""
VARYING = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z|\d+\.\d s")
CREATED = 10
"""Number of created resources after which the runner is killed, while it creates others."""
PULL_REQUEST = {
    "pull_request": {"number": 7, "base": {"sha": "0" * 40}, "head": {"repo": {"full_name": "me/mullion"}}},
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace.make(tmp_path_factory.mktemp("clone"))


@pytest.fixture
def github(clone: Path, engine: Engine) -> Callable[..., GitHub]:
    """Give a GitHub with the clone: `github(event_name, event, test=COMMAND)`."""
    examples = {each: example(clone, each) for each in ("test", "apply")}
    assert [text.count(SETTINGS) for text in examples.values()] == [3, 3]

    def made(event_name: str, event: dict[str, Any], test: str = 'test -s "$KUBECONFIG"', **options: Any) -> GitHub:
        job = "apply" if event_name == "push" or event.get("schedule") == "43 2 * * *" else "test"
        text = examples[job].replace(SETTINGS, "      sandbox: true\n")
        text = text.replace("test: kubectl get nodes", f"test: {test}")
        if event_name != "pull_request":  # the smaller cluster is built
            text = text.replace("stack: aws-dev", "stack: aws-ci")
        (clone / CLUSTERS).write_text(text)
        more = options.pop("environment", {})
        own = workspace.environment(clone, MULLION_PULUMI=str(engine.path), PAUSE="1", **more)
        return GitHub(clone, event_name, event, environment=own, **options)

    return made


@contextmanager
def comments() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the address of GitHub's API for comments, and the comments; it refuses tokens that may not write them."""
    written: list[dict[str, Any]] = []

    class Api(BaseHTTPRequestHandler):
        def _answer(self, code: int, value: Any) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def _write(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            rights = json.loads(self.headers["Authorization"].removeprefix("Bearer "))
            if rights.get("pull-requests") != "write":
                self._answer(403, {"message": "Resource not accessible by integration"})
            elif self.command == "PATCH":
                comment = next(each for each in written if self.path.endswith(f"/issues/comments/{each['id']}"))
                comment["body"] = body
                self._answer(200, comment)
            else:
                assert self.path == "/repos/me/mullion/issues/7/comments"
                written.append({"id": len(written), "body": body, "user": {"type": "Bot"}, "html_url": "there"})
                self._answer(201, written[-1])

        do_POST = do_PATCH = _write

        def do_GET(self) -> None:
            assert self.path.startswith("/repos/me/mullion/issues/7/comments?")
            self._answer(200, [{"id": 99, "body": "by a person", "user": {"type": "User"}}, *written])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", written
    finally:
        server.shutdown()
        server.server_close()


def missing(shown: str, printed: str) -> list[str]:
    """Return the lines of a page that are not printed in this order; moments and durations may differ."""
    lines = iter(VARYING.sub("N", printed).splitlines())
    return [line for line in VARYING.sub("N", shown).splitlines() if line not in lines]


def created(log: Path) -> int:
    """Return how many resources the engine has created, by its log."""
    return len(re.findall(r" up: .* created \(", log.read_text())) if log.exists() else 0


def nothing_left(clone: Path) -> bool:
    sandbox = clone / ".mullion" / "sandbox" / NAME
    return not sandbox.exists() and not (clone / "stacks" / f"Pulumi.{NAME}.yaml").exists()


def test_a_pull_request_gets_a_tested_cluster_and_one_comment(clone: Path, github: Callable[..., GitHub]) -> None:
    with comments() as (api, written):
        hub = github("pull_request", PULL_REQUEST, api=api)
        assert hub.run(CLUSTERS) == {
            **dict.fromkeys(("test", "preview"), "success"),
            "reap": "skipped",
        }, "\n".join(job.output for job in hub.jobs)
        again = github("pull_request", PULL_REQUEST, api=api)
        assert again.run(CLUSTERS, only={"preview"})["preview"] == "success"
    [comment] = written
    run, shown = [text for language, text in pages.fences(pages.ROOT / "docs" / "ci.md") if not language][1:3]
    assert missing(run, hub.jobs[0].output) == []
    assert missing(shown, comment["body"]) == []
    result = json.loads((hub.artifacts[NAME] / "result.json").read_text())
    assert (result["exit_code"], result["cluster"]) == (0, NAME)
    assert (hub.artifacts[NAME] / "engine.log").is_file()
    assert nothing_left(clone)
    assert not hub.signed_in


def test_the_job_that_may_comment_runs_no_file_of_the_pull_request(clone: Path, github: Callable[..., GitHub]) -> None:
    """The pull request's preview writes a folder in the place of its text, with programs in it."""
    script, run = clone / "ci" / "preview.sh", "from pathlib import Path; Path('taken').touch()"
    before = script.read_text()
    names = ("github_comment.py", "json.py")
    writes = "".join(f'echo "{run}" >preview.md/ci/{name}\necho "{run}" >preview.md/{name}\n' for name in names)
    script.write_text(
        f"#!/bin/sh\nrm -rf preview.md\nmkdir -p preview.md/ci\n{writes}echo text >preview.md/preview.md\n"
    )
    try:
        with comments() as (api, written):
            assert github("pull_request", PULL_REQUEST, api=api).run(CLUSTERS, only={"preview"})["preview"] == "success"
    finally:
        script.write_text(before)
        shutil.rmtree(clone / "preview.md")
    assert not (clone / "taken").exists()
    assert [each["body"].strip().endswith("text") for each in written] == [True]


def test_a_cancelled_job_of_gitlab_loses_all_processes_and_removes_its_cluster(clone: Path, engine: Engine) -> None:
    log, name = clone / "artifacts" / "engine.log", "ci-4711"
    log.unlink(missing_ok=True)
    pipeline = {"include": [{"local": "ci/gitlab/mullion.yml"}], "test": {"extends": ".mullion-cluster"}}
    pipeline["test"] |= {"rules": [{"if": '$CI_PIPELINE_SOURCE == "push"'}], "variables": {"TEMPLATE": "aws-ci"}}
    (clone / "one.gitlab-ci.yml").write_text(yaml.safe_dump(pipeline))
    own = {"CI_JOB_ID": "4711", "CI_PROJECT_DIR": str(clone), "CI_PIPELINE_SOURCE": "push", "TEST": "true"}
    own |= {"SANDBOX": "true", "CLOUD": "aws", "OIDC_AUDIENCE": "", "IDENTITY": ""}
    environment = workspace.environment(clone, MULLION_PULUMI=str(engine.path), PAUSE="1")
    [job] = gitlab_runner.run(
        clone, clone / "one.gitlab-ci.yml", own, environment, cancel=lambda: created(log) > CREATED
    )
    assert job.code, "it was cancelled"
    assert "Left in the sandbox: nothing" in job.output, job.output
    for path in (clone / "stacks" / f"Pulumi.{name}.yaml", clone / ".mullion" / name):
        assert not path.exists(), job.output


def test_a_cancelled_job_removes_its_cluster_and_the_reaper_that_of_a_dead_runner(
    clone: Path, github: Callable[..., GitHub]
) -> None:
    started, log = clone / "started", clone / "artifacts" / "engine.log"
    # SIGKILL comes so early that the run cannot remove the cluster itself
    soon = (0.5, 0.1)
    hub = github("workflow_dispatch", {}, f"touch {started}; sleep 600", cancel=started.exists, patience=soon)
    assert hub.run(CLUSTERS, only={"test"})["test"] == "cancelled"
    assert nothing_left(clone), hub.jobs[-1].output
    assert json.loads((hub.artifacts[NAME] / "result.json").read_text())["exit_code"] in (None, 130)

    log.unlink()
    building = github(
        "workflow_dispatch", {}, "true", cancel=lambda: created(log) > CREATED, patience=(0.1, 0.1), clean_up=False
    )
    assert building.run(CLUSTERS, only={"test"})["test"] == "cancelled"
    for lock in (clone / ".mullion" / "sandbox" / NAME / "state" / ".pulumi" / "locks").rglob("*.json"):
        end_session(json.loads(lock.read_text())["pid"])  # a runner that dies takes its engine along
    assert not nothing_left(clone)
    up = json.loads((clone / "artifacts" / "result.json").read_text())["phases"][0]
    assert up["result"] in ("running", "failed")
    early = github("workflow_dispatch", {})
    assert early.run(CLUSTERS, only={"reap"})["reap"] == "success", early.jobs[-1].output
    assert not nothing_left(clone)
    assert f"| {NAME} | ci |" in early.jobs[-1].output
    late = github("schedule", {"schedule": "17 * * * *"}, environment={"TOMORROW": workspace.TOMORROW})
    assert late.run(CLUSTERS)["reap"] == "success", late.jobs[-1].output
    assert "| removed |" in late.jobs[-1].output
    assert nothing_left(clone)


def test_a_push_is_applied_after_approval_and_the_nightly_job_finds_drift(
    clone: Path, github: Callable[..., GitHub]
) -> None:
    push = github("push", {})
    assert push.run(CLUSTERS)["apply"] == "success", push.jobs[-1].output
    assert [job.approved_by for job in push.jobs] == ["", "production"]
    night = github("schedule", {"schedule": "43 2 * * *"})
    words = ["sandbox", "change", "aws-ci", "Instance/aws-ci-windows-0", "instanceType=t3.xlarge"]
    subprocess.run([clone / ".venv" / "bin" / "mullion", *words], cwd=clone, env=night.environment, check=True)
    assert night.run(CLUSTERS)["drift"] == "failure"
    assert "instanceType: t3.large -> t3.xlarge" in night.jobs[-1].output
