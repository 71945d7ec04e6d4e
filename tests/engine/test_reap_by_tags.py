"""`mullion reap --by-tags`: a cluster whose state is lost, built by the real engine, is removed by its tags."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from operations.engine.locate import Engine
from operations.reaping import accounts, sweep
from operations.reaping.things import Account, Thing
from tests.operations.reaping.clocks import passing

from . import sampling, twins
from .clone import Clone
from .test_temporary_clusters import TOMORROW

pytestmark = pytest.mark.engine

TWIN = "stays"
Opened = Callable[[], AbstractContextManager[list[Account]]]


@pytest.fixture(scope="module", params=sampling.each("ci"))
def lost(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A clone whose cluster is built and whose state is deleted, beside another cluster that does not expire soon."""
    clone = Clone(tmp_path_factory.mktemp("lost"), engine, sampling.stack(request.param, "reap by tags")).built()
    shutil.rmtree(clone.sandbox / "state")
    twins.add(clone.sandbox / "world.db", clone.stack, TWIN)
    return clone


@pytest.fixture
def database(lost: Clone, tmp_path: Path) -> Path:
    """A copy of the sandbox's account."""
    for name in ("world.db", "world.db.secrets"):
        shutil.copy(lost.sandbox / name, tmp_path)
    return tmp_path / "world.db"


@pytest.fixture
def account(lost: Clone, database: Path) -> Iterator[Account]:
    with accounts.in_sandbox(lost.cloud.name, (), database) as found:
        yield found[0]


def gone(database: Path, lost: Clone) -> bool:
    """Whether the account has all resources of the other cluster and nothing else."""
    left = twins.count(database)
    return left == twins.count(lost.sandbox / "world.db") // 2 and twins.resources(database, TWIN) == twins.resources(
        lost.sandbox / "world.db", TWIN
    )


def test_a_removal_that_is_cut_off_is_completed_by_the_next(lost: Clone, database: Path, account: Account) -> None:
    for after in (2, 4, 4):
        with pytest.raises(KeyboardInterrupt):
            cut_off(account, lost.stack, after)
    assert not gone(database, lost)
    outcome = sweep.removed(account, lost.stack, lambda _: "", snapshots=True, clock=passing())
    assert (outcome.left, outcome.kept) == ([], "")
    assert gone(database, lost)


def cut_off(account: Account, cluster: str, after: int) -> None:
    """Remove a cluster; raise KeyboardInterrupt after this number of deletions."""
    delete, left = account.delete, iter(range(after))

    def counted(thing: Thing) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        delete(thing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(account, "delete", counted)
        sweep.removed(account, cluster, lambda _: "", snapshots=True, clock=passing())


def test_two_reapers_at_once_do_no_harm(lost: Clone, database: Path, account: Account) -> None:
    def remove(account: Account) -> sweep.Outcome:
        return sweep.removed(account, lost.stack, lambda _: "", snapshots=True, clock=passing())

    with accounts.in_sandbox(lost.cloud.name, (), database) as other, ThreadPoolExecutor(2) as both:
        outcomes = list(both.map(remove, [account, other[0]]))
    assert [(each.left, each.kept) for each in outcomes] == [([], "")] * 2
    assert gone(database, lost)


def test_the_command_removes_the_cluster_and_nothing_of_another_one(lost: Clone) -> None:
    """The last test: it empties the account of the clone."""
    database = lost.sandbox / "world.db"
    before, kept = twins.count(database), twins.resources(database, TWIN)
    words = ("reap", "--sandbox", "--by-tags", lost.cloud.name, "--snapshots", "--format", "json")
    early = json.loads(tomorrow(lost, *words, tomorrow=False).stdout)
    assert {each["name"]: each["result"] for each in early["clusters"]} == {lost.stack: "kept", TWIN: "kept"}
    dry = json.loads(tomorrow(lost, *words).stdout)
    assert {each["name"]: each["result"] for each in dry["clusters"]} == {lost.stack: "expired", TWIN: "kept"}
    assert twins.count(database) == before, "a dry run deletes nothing"
    done = tomorrow(lost, *words, "--yes")
    assert done.returncode == 0, done.stderr
    assert {each["name"]: each["result"] for each in json.loads(done.stdout)["clusters"]}[lost.stack] == "removed"
    assert twins.count(database) == before // 2
    assert twins.resources(database, TWIN) == kept


def tomorrow(clone: Clone, *words: str, tomorrow: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the command, by default with a clock that is a day ahead."""
    program = TOMORROW if tomorrow else "from operations.__main__ import main; main()"
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(
        command, cwd=clone.folder, env=clone.environment, capture_output=True, text=True, timeout=120, check=False
    )
