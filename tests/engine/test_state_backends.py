"""`mullion run`, `ls`, `extend` and `reap` with the state in S3, Azure Blob Storage and Google Cloud Storage.

The sandbox's providers stand in for the account, one database for all runs, so nothing but the backend is shared by two
clones, like two runners.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine
from sandbox import faults, home
from sandbox.aws.regions import ACCOUNT
from sandbox.azure.regions import SUBSCRIPTION
from sandbox.cloud_state import CloudState
from tests.awaited import until

from .clone import Clone
from .random_runs import TOMORROW
from .state_backends import BACKENDS, StateBackend

pytestmark = pytest.mark.engine

CLOUDS = {"s3": "aws", "azblob": "azure", "gs": "gcp"}
MACHINES = {"aws-ci": "Instance", "azure-ci": "VirtualMachine", "gcp-ci": "Instance"}
LATE_SECONDS = 30
"""How long the load balancer takes, longer than the signals of a cancelled job."""
PROGRAMS = {"aws": f"""[ "$1" = sts ] && echo '{{"Account": "{ACCOUNT}"}}'""", "az": "false", "gcloud": "false"}
"""Stand-ins of the clouds' command lines: `aws` knows the account, the others know nothing."""


@dataclass
class Account:
    """Two clones with one backend and one account."""

    backend: StateBackend
    stack: str
    runner: Clone
    reaper: Clone
    world: Path

    def left(self, kind: str = "") -> int:
        """Return how many resources the account has, of types with this word."""
        cloud_state = CloudState(self.world)
        try:
            return sum(kind in each.type.lower() for each in cloud_state.resources())
        finally:
            cloud_state.close()

    def run(self, name: str, command: str, *options: str) -> tuple[int, str, str]:
        """Run a command with a cluster of its own; return code, standard output and standard error."""
        words = ("--yes", "--name", name, "--set", "api.allow=[52.95.110.1/32]", "--verify", "none", *options)
        ran = self.runner.run("run", self.stack, *words, "--", "sh", "-c", command)
        return ran.returncode, ran.stdout, ran.stderr

    def stacks(self) -> list[str]:
        """Return the states and locks in the backend, without the copy that the engine keeps of a removed stack."""
        return [
            key
            for key in self.backend.listed()
            if key.endswith((".json", ".json.zst")) and ("/stacks/" in key or "/locks/" in key)
        ]


@pytest.fixture(params=["s3", *(pytest.param(each, marks=pytest.mark.soak) for each in ("azblob", "gs", "s3-zstd"))])
def account(
    request: pytest.FixtureRequest, tmp_path: Path, engine: Engine, missing: Callable[[str, str], NoReturn]
) -> Iterator[Account]:
    kind, _, compression = request.param.partition("-")
    stack, programs = f"{CLOUDS[kind]}-ci", tmp_path / "programs"
    for place in ("server", "runner", "reaper", "programs"):
        (tmp_path / place).mkdir()
    for name, body in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    with BACKENDS[kind](tmp_path / "server", missing) as backend:
        runner, reaper = (Clone(tmp_path / place, engine, stack) for place in ("runner", "reaper"))
        for clone in (runner, reaper):
            text = clone.file.read_text("utf-8")
            clone.file.write_text(
                text.replace("example-project", "project-of-tests"), "utf-8"
            )  # `up` refuses the example
            clone.environment |= {
                "PULUMI_HOME": str(home.install(tmp_path / "home")),
                "PULUMI_BACKEND_URL": backend.url,
                "PULUMI_CONFIG_PASSPHRASE": "of the tests",
                "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
                "MULLION_SANDBOX_WORLD": str(tmp_path / "world.db"),
                "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
                "PATH": f"{programs}:{clone.environment['PATH']}",
                **backend.environment,
            }
        if compression:  # the reaper reads and removes what the runner compressed
            runner.environment["PULUMI_DIY_BACKEND_ZSTD"] = "true"
        yield Account(backend, stack, runner, reaper, tmp_path / "world.db")


IN_SANDBOX = (
    "import os; from pathlib import Path; from operations.reaping import accounts; "
    "world = Path(os.environ['MULLION_SANDBOX_WORLD']); "
    "accounts.opened = lambda cloud, regions, *, sandbox: accounts.in_sandbox(cloud, regions, world); "
    "from operations.__main__ import main; main()"
)
"""The command, for which the sandbox's management API is that of the real account."""


def test_what_a_provider_created_before_it_died_is_removed_by_tags(account: Account) -> None:
    """The state lacks it, and it keeps its network: neither reaper could remove the cluster."""
    cloud_state = CloudState(account.world)
    faults.plan(cloud_state, "die-after", type=MACHINES[account.stack], nth=2)
    cloud_state.close()
    account.runner.words = lambda *words: [sys.executable, "-c", IN_SANDBOX, *words]  # type: ignore[method-assign]
    code, _, errors = account.run("ci-1", "true")
    assert code == 1, errors
    assert "searching for resources in no state" in errors
    assert account.left() == 0, errors
    assert account.stacks() == []


def test_a_run_that_github_cancels_while_it_creates_leaves_no_lock_and_is_removed_by_the_next_step(
    account: Account,
) -> None:
    """SIGINT, 7.5 s later SIGTERM, 2.5 s later SIGKILL; then ci/remove.sh."""
    cloud_state = CloudState(account.world)
    faults.plan(cloud_state, "late", type="LoadBalancer", amount=LATE_SECONDS)
    cloud_state.close()
    options = ("--yes", "--name", "ci-1", "--set", "api.allow=[52.95.110.1/32]", "--verify", "none")
    with account.runner.start("run", account.stack, *options, "--", "true") as run:
        until(lambda: account.left("loadbalancer"), "waiting for the load balancer", 1200)
        for number, seconds in ((signal.SIGINT, 7.5), (signal.SIGTERM, 2.5)):
            run.send_signal(number)
            time.sleep(seconds)
        assert run.poll() is None, "the engine ends its calls first"
        run.kill()
        run.wait()
        for pipe in (run.stdout, run.stderr):
            assert pipe
            pipe.close()

    def down() -> bool:
        done = account.runner.run("down", "ci-1", "--yes")
        assert done.returncode in (Exit.OK, Exit.LOCKED), done.stderr
        return done.returncode == Exit.OK

    until(down, "waiting for the engine to release its lock", pause=5)
    assert account.left() == 0
    assert account.stacks() == []


def test_another_runner_sees_and_reaps_the_cluster_of_a_killed_one(account: Account) -> None:
    code, _, errors = account.run("ci-1", "kill -KILL $PPID")
    assert code < 0, errors
    assert account.left() > 20
    [state] = [key for key in account.stacks() if "/stacks/" in key]
    assert state.endswith(".zst") == ("PULUMI_DIY_BACKEND_ZSTD" in account.runner.environment)
    listed = account.reaper.run("ls", "--json")
    [cluster] = json.loads(listed.stdout)["clusters"]
    assert (cluster["name"], cluster["state"], cluster["health"]) == ("ci-1", "backend", "built"), listed.stderr
    early = account.reaper.run("reap", "--yes", "--format", "json")
    assert [each["result"] for each in json.loads(early.stdout)["clusters"]] == ["kept"], early.stderr
    # the killed runner is gone, and its stack file with it
    extended = account.reaper.run("extend", "ci-1", "1h", "--yes")
    assert extended.returncode == 0, extended.stderr
    assert "wrote stacks/Pulumi.ci-1.yaml as the last `up` of ci-1 read it" in extended.stderr
    account.reaper.words = lambda *words: [sys.executable, "-c", TOMORROW, *words]  # type: ignore[method-assign]
    late = account.reaper.run("reap", "--yes", "--format", "json")
    assert [each["result"] for each in json.loads(late.stdout)["clusters"]] == ["removed"], late.stderr
    assert account.left() == 0
    assert account.stacks() == []
