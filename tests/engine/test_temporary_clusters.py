"""`mullion run` and `mullion reap` with the real engine: nothing is left after a failure, a signal, a killed runner."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from operations.engine.locate import Engine
from sandbox import faults

from . import ci_page, sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

NAME = "ci-4711"
TOMORROW = (
    "from datetime import timedelta; from components.spec import expiry; now = expiry.now; "
    "expiry.now = lambda: now() + timedelta(days=1); from operations.__main__ import main; main()"
)
"""The command, with a clock that is a day ahead."""
CREATED = 20
"""Resources after which a run is cut off."""


@pytest.fixture(scope="module", params=sampling.each("ci"))
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    return Clone(tmp_path_factory.mktemp("clone"), engine, sampling.stack(request.param, "temporary"))


@pytest.fixture
def clone(copy: Clone) -> Clone:
    """A clone without any sandbox; `sandbox` is that of the run."""
    copy.sandbox = copy.folder / ".mullion" / "sandbox" / NAME
    copy.fresh()
    return copy


def words(clone: Clone, *command: str) -> tuple[str, ...]:
    return ("run", clone.stack, "--sandbox", "--name", NAME, "--ttl", "2h", "--", *command)


def nothing_left(clone: Clone) -> bool:
    """Whether the stack file and the sandbox are gone; a sandbox with resources is never deleted."""
    file = clone.folder / "stacks" / f"Pulumi.{NAME}.yaml"
    return not any(path.exists() for path in (file, clone.sandbox, clone.folder / ".mullion" / NAME))


@contextmanager
def cut_off(clone: Clone) -> Iterator[subprocess.Popen[str]]:
    """Give a run that has created some of its resources; creations are in progress at any moment."""
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, "slow", 1, amount=0.3, times=80)
    with clone.start(*words(clone, "true")) as process:
        assert process.stderr
        lines = [line for line, _ in zip(iter(process.stderr.readline, ""), range(CREATED), strict=False)]
        assert len(lines) == CREATED, "".join(lines)
        yield process


def test_a_command_that_fails_has_its_exit_code_and_its_cluster_is_removed(clone: Clone) -> None:
    seen = clone.folder / "seen"
    script = f"{sys.executable} -m operations ls --sandbox --json > {seen}; test -s $KUBECONFIG && exit 7"
    ran = clone.run(*words(clone, "sh", "-c", script))
    assert ran.returncode == 7, ran.stderr
    [during] = json.loads(seen.read_text())["clusters"]
    assert (during["name"], during["health"], during["expired"]) == (NAME, "built", False)
    assert "Left in the sandbox: nothing" in ran.stderr
    assert nothing_left(clone)
    artifacts = clone.folder / ".mullion" / "runs" / NAME
    assert {path.stem for path in (artifacts / "machines").iterdir()} >= {"control-plane-0", "windows-0"}
    junit = (artifacts / "junit.xml").read_text()
    assert ci_page.lacking(ci_page.shown(f"$ cat .mullion/runs/{NAME}/junit.xml"), junit) == [], junit
    result = json.loads((artifacts / "result.json").read_text())
    assert (result["exit_code"], result["artifacts"]["machines/windows-0.zip"]) == (7, "written")
    log = (artifacts / "engine.log").read_text()
    assert all(words in log for words in (" up: ", " destroy: ", "Resources:"))


def test_a_run_that_is_terminated_while_it_builds_leaves_nothing(clone: Clone) -> None:
    with cut_off(clone) as process:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    result = json.loads((clone.folder / ".mullion" / "runs" / NAME / "result.json").read_text())
    assert (result["exit_code"], result["phases"][0]["message"]) == (130, "interrupted")
    assert "Left in the sandbox: nothing" in errors
    assert nothing_left(clone)


def test_two_reapers_remove_the_cluster_of_a_killed_runner_once_it_has_expired(clone: Clone) -> None:
    with cut_off(clone) as process:
        clone.end(process)
    early = clone.run("reap", "--sandbox", "--yes")
    assert (early.returncode, " kept " in early.stdout) == (0, True), early.stderr
    with clone.cloud_state() as cloud_state:
        faults.clear(cloud_state)
    with ExitStack() as both:
        reapers = [both.enter_context(reaper(clone)) for _ in range(2)]
        ended = [each.communicate(timeout=120) for each in reapers]
    assert {each.returncode for each in reapers} <= {0, 3}, "\n".join(text for texts in ended for text in texts)
    assert 0 in {each.returncode for each in reapers}, ended
    assert not any("Traceback" in text for texts in ended for text in texts)
    assert nothing_left(clone)


@contextmanager
def reaper(clone: Clone) -> Iterator[subprocess.Popen[str]]:
    """Give a reaper of tomorrow."""
    command = [sys.executable, "-c", TOMORROW, "reap", "--sandbox", "--yes"]
    with subprocess.Popen(
        command, cwd=clone.folder, env=clone.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
