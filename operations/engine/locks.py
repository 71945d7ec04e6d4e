"""Locks of the engine's backends of files: folders and buckets. A killed run leaves its lock, which refuses later runs.

A lock is a file `.pulumi/locks/organization/PROJECT/STACK/ID.json`: process id, host, user and time of its run. In a
folder it is read here. In a bucket the engine reads it, and quotes it in its refusal (pkg/backend/diy/lock.go).
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlparse

from pulumi import automation as auto

from operations.console.exits import Exit, Stop
from operations.engine import backend_files, engine_record
from operations.engine.process import end_session

SLACK = timedelta(seconds=10)
"""How much younger than its lock a process may seem: clocks differ, and ps counts whole seconds."""
SOON = timedelta(minutes=10)
"""Longest time from an engine's start to its lock: before, it reads the stack from the backend."""
LONGEST = timedelta(hours=6)
"""Age from which on the lock of an expired cluster is broken: no job of a hosted runner lasts longer (GitHub: 6 h;
the pipelines of this repository: 4 h)."""
REMOVAL = timedelta(hours=1)
"""Time after the expiry in which the run of a cluster has removed it: ci/cluster.sh keeps the last hour of the job."""
RUN = timedelta(hours=3)
"""Longest job of ci/cluster.sh (JOB_MINUTES). A younger lock may be of an `upgrade` of an expired cluster."""
_HOLDER = re.compile(r"^\s*(\S+): created by (.*)@(\S+) \(pid (\d+)\) at (\S+)\s*$", re.MULTILINE)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Lock:
    """The lock of one run. path: in a folder; a URL in a bucket."""

    path: Path | str
    pid: int
    host: str
    user: str
    since: datetime

    @property
    def dead(self) -> bool:
        """Whether the run has certainly ended: it was on this host, and its process is gone."""
        return self.host == socket.gethostname() and not _lives(self.pid, self.since)

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC"


def of_stack(stack: str, backend: str) -> list[Lock]:
    """Return the locks of a stack in the backend at this URL; none unless the backend is a folder on this machine."""
    folder = _folder(backend)
    if folder is None:
        return []
    return [lock for path in sorted(folder.glob(f"locks/*/*/{stack}/*.json")) if (lock := _read(path))]


def broken(stack: str, backend: str) -> list[Path]:
    """Return attribute files of a stack's state that a run left half-written.

    The backend replaces the state file in one step, but not its attributes (type and checksum, which nothing needs).
    Empty attributes make the state unreadable ("failed to load checkpoint: EOF").
    """
    folder = _folder(backend)
    return [each for each in folder.glob(f"stacks/*/{stack}.json*.attrs") if not _is_json(each)] if folder else []


def _folder(backend: str) -> Path | None:
    try:
        url = urlparse(backend)
    except ValueError:  # the engine reports what is wrong with the URL
        return None
    return Path(unquote(url.netloc + url.path)).expanduser() / ".pulumi" if url.scheme == "file" else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def cancel_dead(stack: str, backend: str) -> list[Lock]:
    """Delete the locks of ended runs, their remaining providers and half-written attributes; return the locks.

    Raises Stop if a run is alive, or if that cannot be determined. Each lock is deleted by its own file: `pulumi
    cancel` deletes all, including one that another run has just taken.
    """
    locks = of_stack(stack, backend)
    for lock in locks:
        if not lock.dead:
            raise Stop(Exit.LOCKED, refusal(stack, lock))
    for lock in locks:
        # a provider that outlived its engine would create resources that nobody records
        end_session(lock.pid)
        path = Path(lock.path)
        for file in (path, path.with_name(f"{path.name}.attrs")):
            file.unlink(missing_ok=True)
    for file in broken(stack, backend):
        file.unlink(missing_ok=True)
    return locks


def refusal(stack: str, lock: Lock) -> str:
    """Return a message that says who holds the stack and what to do."""
    return f"stack {stack} is locked by {lock}. Wait for that run; if it has ended: rm {lock.path}"


class Locked(Stop):
    """A lock refused the engine. text: the engine's message, which names the holders."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(Exit.LOCKED, message)
        self.text = text


def in_refusal(text: str) -> list[Lock]:
    """Return the locks that the engine's refusal names."""
    found = [_HOLDER.match(line) for line in text.splitlines()]
    with suppress(ValueError):
        return [
            Lock(each[1], int(each[4]), each[3], each[2], datetime.fromisoformat(each[5].replace("Z", "+00:00")))
            for each in found
            if each
        ]
    return []


def passed(run: auto.Stack, work: Callable[[], Result], *, expired: datetime | None = None) -> Result:
    """Do the work on a stack; if only locks of runs that are over refuse it, delete them and do it again.

    The engine that a lock refuses has changed nothing. expired: when the stack's cluster expired; `_is_over` says
    which further locks then count as over.

    Each lock is deleted by its own file. `pulumi cancel` deletes all locks, including one that another reaper has just
    taken. So it runs only if the files cannot be deleted here, right after the engine has named the same locks again.
    """
    try:
        return work()
    except (auto.ConcurrentUpdateError, Locked) as error:
        over = _over(run.name, error, expired)
    deleted = [_deleted(run.name, lock) for lock in over]
    if not all(deleted):
        try:
            return work()
        except (auto.ConcurrentUpdateError, Locked) as error:
            if not {lock.path for lock in _named(error)} <= {lock.path for lock in over}:
                raise
        run.workspace.pulumi_command.run(["cancel", "--yes", "--stack", run.name], run.workspace.work_dir, {})
    engine_record.forget(run.name, {lock.pid for lock in over})
    return work()


def _deleted(stack: str, lock: Lock) -> bool:
    """End the remaining providers of a run that is over, and delete its lock. Return false if the file stayed."""
    if lock.dead and _own(stack, lock):
        end_session(lock.pid)
    print(f"mullion: deleting the lock of a run that is over ({lock})", file=sys.stderr, flush=True)
    deleted = backend_files.delete(str(lock.path))
    if not deleted:
        print("mullion: it could not be deleted by its file; `pulumi cancel` deletes it", file=sys.stderr, flush=True)
    return deleted


def _named(error: auto.ConcurrentUpdateError | Locked) -> list[Lock]:
    return in_refusal(error.text if isinstance(error, Locked) else str(error))


def _over(stack: str, error: auto.ConcurrentUpdateError | Locked, expired: datetime | None) -> list[Lock]:
    """Return the locks that an error names. Raises it if it names none, or one of a run that may still work."""
    found = _named(error)
    if not found or not all(_is_over(stack, lock, expired) for lock in found):
        raise error
    return found


def _is_over(stack: str, lock: Lock, expired: datetime | None) -> bool:
    """Return whether the run of a bucket's lock is over: this clone started its engine, which is gone; the lock is
    older than any run; or it was taken before the expiry, and the time of a job and that for the removal are over.

    A reaper takes its lock after the expiry, so the last rule finds none of another reaper. GitLab runs after_script in
    a new container of the job, once that of the script is gone.
    """
    now = datetime.now(timezone.utc)
    age = now - lock.since
    removed = expired is not None and lock.since < expired and now - expired > REMOVAL
    if expired and (age > LONGEST or (removed and age > RUN)):
        return True
    if not (own := _own(stack, lock)):
        return False
    return lock.dead or (lock.host != socket.gethostname() and own.job != "" and own.job == engine_record.job())


def _own(stack: str, lock: Lock) -> engine_record.EngineRecord | None:
    """Return the record of the engine that took a lock, if this clone started it and did not see it ending."""
    for each in engine_record.read(stack):
        if (each.pid, each.host) == (lock.pid, lock.host) and each.began - SLACK <= lock.since <= each.began + SOON:
            return each
    return None


def _read(path: Path) -> Lock | None:
    """Return a lock, or None if it was released meanwhile. Raises Stop if the file cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
        # without nanoseconds, which strptime cannot parse
        since = datetime.strptime(found["timestamp"][:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return Lock(path, int(found["pid"]), found["hostname"], found["username"], since)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(
            Exit.REFUSED, f"the lock {path} cannot be read ({error}); if no run is in progress: rm {path}"
        ) from None


def _lives(pid: int, since: datetime) -> bool:
    """Return whether the process that took the lock still runs: it is not a zombie, nor a later process with its id.

    since: when the lock was taken.
    """
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        words = ["ps", "-o", "stat=,etime=", "-p", str(pid)]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=20)
        if not (columns := done.stdout.split()):
            return False
        began = datetime.now(timezone.utc) - _elapsed(columns[1])
        return not columns[0].startswith("Z") and began <= since + SLACK
    # without ps, any process with the id counts as alive
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _elapsed(text: str) -> timedelta:
    """Return the time that a process has run, from ps: [[days-]hours:]minutes:seconds."""
    days, _, clock = text.rpartition("-")
    parts = [0, 0, *map(int, clock.split(":"))]
    return timedelta(days=int(days or 0), hours=parts[-3], minutes=parts[-2], seconds=parts[-1])
