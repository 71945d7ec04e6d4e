"""Locks of the file backend: their owners, and whether their runs have ended."""

import json
import os
import socket
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from operations.console.exits import Exit, Stop
from operations.engine import backend_files, engine_record, failures, locks
from operations.stacks import target

pytestmark = pytest.mark.subprocess

NEVER = 2**22 + 1
"""A process id above Linux's highest."""


NAME, HOST = "ci-1", socket.gethostname()


class Engine:
    """An engine whose bucket has a lock until `pulumi cancel`, or with `deletes` a command of the cloud, deletes it.

    another: the lock of another run, which takes it when the first one is deleted.
    """

    def __init__(
        self,
        *,
        pid: int = NEVER,
        host: str = HOST,
        age: timedelta = timedelta(),
        another: str = "",
        deletes: bool = False,
    ) -> None:
        since = datetime.now(timezone.utc) - age
        self.refusal = (
            "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete "
            f"the lock file with `pulumi cancel`.\n  s3://b/.pulumi/locks/organization/mullion/{NAME}/1.json: "
            f"created by ci@{host} (pid {pid}) at {since:%Y-%m-%dT%H:%M:%S}Z"
        )
        self.locked, self.calls, self.another, self.deletes = True, list[list[str]](), another, deletes
        self.name, self.work_dir, self.workspace = NAME, "/", self
        self.pulumi_command = self

    def run(self, args: list[str], cwd: str, environment: dict[str, str]) -> None:
        self.calls.append(args)
        self.locked = False

    def delete(self, url: str) -> bool:
        if self.deletes or self.another:
            self.calls.append(["delete", url])
            self.locked = False
        if self.another:
            self.refusal, self.locked = self.refusal.replace(f"{NAME}/1.json", f"{NAME}/2.json"), True
        return self.deletes

    def work(self) -> str:
        record = engine_record.written(["destroy", "--stack", NAME], NEVER + 2)
        engine_record.ended(record, NEVER + 2)
        with failures.reported(NAME):
            if self.locked:
                raise create_command_error(auto.CommandResult("", self.refusal, 255))
        return "done"


URL = f"s3://b/.pulumi/locks/organization/mullion/{NAME}/1.json"


@pytest.fixture(autouse=True)
def _no_command_of_a_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_files, "delete", lambda _: False)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], object]:
    """Give `recorded(pid)`: this clone started an engine with that id, and was killed while it ran."""
    monkeypatch.setattr(target, "root", lambda: tmp_path)
    return lambda pid: engine_record.written(["destroy", "--yes", "--stack", NAME], pid)


def test_the_lock_of_a_killed_run_of_this_clone_is_deleted_in_a_bucket(recorded: Callable[[int], object]) -> None:
    engine = Engine()
    recorded(NEVER)
    assert locks.passed(cast(Any, engine), engine.work) == "done"
    assert engine.calls == [["cancel", "--yes", "--stack", NAME]]


def test_the_lock_of_the_script_of_a_job_is_deleted_by_its_after_script_in_another_container(
    recorded: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids of processes in the new container are others: the old ones say nothing."""
    engine = Engine(pid=os.getpid(), host="container-1")
    monkeypatch.setenv("CI_JOB_ID", "4711")
    monkeypatch.setattr(socket, "gethostname", lambda: "container-1")
    recorded(os.getpid())
    monkeypatch.setattr(socket, "gethostname", lambda: "container-2")
    with pytest.MonkeyPatch.context() as other_job:
        other_job.setenv("CI_JOB_ID", "4712")
        with pytest.raises(Stop, match="locked"):
            locks.passed(cast(Any, engine), engine.work)
    assert locks.passed(cast(Any, engine), engine.work) == "done"


@pytest.mark.parametrize(
    ("record", "engine", "ago"),
    [
        (None, Engine(), None),
        (NEVER, Engine(host="another"), None),
        (NEVER + 1, Engine(), None),
        (NEVER, Engine(age=timedelta(hours=1)), None),
        (os.getpid(), Engine(pid=os.getpid()), None),
        (None, Engine(host="another", age=locks.LONGEST + timedelta(minutes=5)), None),
        (None, Engine(host="another", age=locks.RUN + timedelta(minutes=30)), timedelta(minutes=55)),
        (None, Engine(host="another", age=timedelta(minutes=80)), timedelta(minutes=65)),
        (None, Engine(host="another", age=timedelta(minutes=1)), timedelta(hours=4)),
        (None, Engine(host="another", age=timedelta(hours=3)), timedelta(hours=4)),
    ],
    ids=[
        *("no record", "host", "process", "time", "lives", "old, but not expired"),
        *("in the hour of the removal", "younger than a job", "another reaper's", "an older reaper's"),
    ],
)
def test_a_lock_in_a_bucket_stays_if_its_run_may_still_work(
    record: int | None, engine: Engine, ago: timedelta | None, recorded: Callable[[int], object]
) -> None:
    """ago: time since the expiry of the cluster; None if the work is no reaper's."""
    if record:
        recorded(record)
    with pytest.raises(Stop, match="pulumi cancel --yes") as stop:
        locks.passed(cast(Any, engine), engine.work, expired=None if ago is None else datetime.now(timezone.utc) - ago)
    assert (stop.value.code, engine.calls) == (Exit.LOCKED, [])


@pytest.mark.parametrize(
    ("age", "ago"),
    [
        (locks.LONGEST + timedelta(minutes=5), timedelta(minutes=1)),
        (locks.RUN + timedelta(minutes=1), timedelta(minutes=65)),
        (timedelta(hours=5), timedelta(hours=2)),
    ],
    ids=["no job lasts that long", "taken before the expiry", "taken hours before the expiry"],
)
def test_the_lock_of_an_expired_cluster_is_deleted_once_its_run_is_over(age: timedelta, ago: timedelta) -> None:
    engine = Engine(host="another", age=age)
    assert locks.passed(cast(Any, engine), engine.work, expired=datetime.now(timezone.utc) - ago) == "done"


def test_a_lock_is_deleted_by_its_own_file_where_a_command_of_the_cloud_does_that(
    recorded: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(deletes=True)
    monkeypatch.setattr(backend_files, "delete", engine.delete)
    recorded(NEVER)
    assert locks.passed(cast(Any, engine), engine.work) == "done"
    assert engine.calls == [["delete", URL]], "`pulumi cancel` deletes other locks, too"
    assert engine_record.read(NAME) == []


@pytest.mark.parametrize("deletes", [True, False], ids=["deleted here", "deleted by another reaper"])
def test_a_lock_that_another_reaper_has_just_taken_stays(
    deletes: bool, recorded: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(another="reaper-2", deletes=deletes)
    monkeypatch.setattr(backend_files, "delete", engine.delete)
    recorded(NEVER)
    with pytest.raises(Stop, match="locked"):
        locks.passed(cast(Any, engine), engine.work)
    assert engine.calls == [["delete", URL]], "no `pulumi cancel`"


def test_a_record_of_an_engine_is_deleted_with_its_end(recorded: Callable[[int], object], tmp_path: Path) -> None:
    path = recorded(NEVER)
    killed = engine_record.read(NAME)
    assert [each.pid for each in killed] == [NEVER]
    engine_record.ended(cast(Path, recorded(NEVER + 1)), NEVER + 1)
    assert engine_record.read(NAME) == killed, "a later engine, which the lock refuses, says nothing about it"
    engine_record.ended(cast(Path, path), NEVER)
    assert not (tmp_path / ".engines" / f"{NAME}.json").exists()
    assert engine_record.written(["stack", "export", "--stack", NAME], 1) is None, "it locks nothing"


def lock(folder: Path, pid: int, *, host: str = "", age: int = 0) -> Path:
    """Write a lock as the engine does."""
    path = folder / ".pulumi" / "locks" / "organization" / "mullion" / "small" / f"{pid}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    since = datetime.now(timezone.utc) - timedelta(seconds=age)
    found = {
        "pid": pid,
        "username": "ann",
        "hostname": host or socket.gethostname(),
        "timestamp": f"{since:%Y-%m-%dT%H:%M:%S}.095871214Z",
    }
    path.write_text(json.dumps(found))
    path.with_name(f"{path.name}.attrs").write_text("{}")
    return path


@pytest.mark.parametrize(
    ("pid", "host", "age", "dead"),
    [
        (NEVER, "", 0, True),
        (os.getpid(), "", 0, False),
        (os.getpid(), "", 10**7, True),
        (NEVER, "another", 0, False),
    ],
    ids=["process gone", "process lives", "a later process with its id", "another host"],
)
def test_a_lock_is_dead_only_if_its_process_on_this_host_has_ended(
    tmp_path: Path, pid: int, host: str, age: int, dead: bool
) -> None:
    path = lock(tmp_path, pid, host=host, age=age)
    [found] = locks.of_stack("small", tmp_path.as_uri())
    assert found.dead is dead
    if dead:
        assert locks.cancel_dead("small", tmp_path.as_uri()) == [found]
        assert list(path.parent.iterdir()) == []
        return
    with pytest.raises(Stop) as stop:
        locks.cancel_dead("small", tmp_path.as_uri())
    assert stop.value.code is Exit.LOCKED
    for word in ("ann", str(pid), f"{found.since:%Y-%m-%d}", f"rm {path}"):
        assert word in str(stop.value), word
    assert path.exists()


def test_no_lock_is_removed_while_one_of_the_runs_is_alive(tmp_path: Path) -> None:
    gone, alive = lock(tmp_path, NEVER), lock(tmp_path, os.getpid())
    with pytest.raises(Stop):
        locks.cancel_dead("small", tmp_path.as_uri())
    assert gone.exists() and alive.exists()


def test_locks_of_other_stacks_and_backends_are_ignored(tmp_path: Path) -> None:
    lock(tmp_path, NEVER)
    assert locks.of_stack("other", tmp_path.as_uri()) == []
    assert locks.of_stack("small", "s3://bucket") == []


def test_the_error_about_an_unreadable_lock_names_its_file(tmp_path: Path) -> None:
    path = lock(tmp_path, NEVER)
    path.write_text("{")
    with pytest.raises(Stop, match=str(path)):
        locks.of_stack("small", tmp_path.as_uri())


@pytest.mark.parametrize(("text", "stays"), [("", False), ('{"md5":', False), ('{"md5": "x"}', True)])
def test_half_written_attribute_files_of_a_state_are_deleted(tmp_path: Path, text: str, stays: bool) -> None:
    state = tmp_path / ".pulumi" / "stacks" / "mullion" / "small.json"
    state.parent.mkdir(parents=True)
    attributes = state.with_name("small.json.attrs")
    for path in (state, attributes):
        path.write_text(text)
    assert locks.cancel_dead("small", tmp_path.as_uri()) == []
    assert attributes.exists() is stays
    assert state.exists()
