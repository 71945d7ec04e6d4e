"""Locks of the file backend: their owners, and whether their runs have ended."""

import json
import os
import socket
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from operations.console.exits import Exit, Stop
from operations.engine import locks

pytestmark = pytest.mark.subprocess

NEVER = 2**22 + 1
"""A process id above Linux's highest."""


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
    assert stop.value.code is Exit.REFUSED
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
