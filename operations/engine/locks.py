"""Locks of the engine's file backend: a run that was cut off leaves its own behind, and every later run is refused.

A lock is a file `.pulumi/locks/organization/PROJECT/STACK/ID.json`: process id, host, user and time of its run.
"""

import json
import os
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import unquote, urlparse

from operations.console.exits import Exit, Stop
from operations.engine.process import end_session

SLACK = timedelta(seconds=10)
"""How much later than its lock a process may seem to have begun: clocks, and times told in whole seconds."""


@dataclass(frozen=True)
class Lock:
    """One run's claim on a stack."""

    path: Path
    pid: int
    host: str
    user: str
    since: datetime

    @property
    def dead(self) -> bool:
        """Whether its run is surely over: it was on this host, and no such process lives."""
        return self.host == socket.gethostname() and not _lives(self.pid, self.since)

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since:%Y-%m-%d %H:%M:%S} UTC"


def of_stack(stack: str, backend: str) -> list[Lock]:
    """Return the locks of a stack in the backend with this URL; none for a backend that keeps no files here."""
    folder = _folder(backend)
    if folder is None:
        return []
    return [lock for path in sorted(folder.glob(f"locks/*/*/{stack}/*.json")) if (lock := _read(path))]


def broken(stack: str, backend: str) -> list[Path]:
    """Return the attribute files of a stack's state that a run was writing when it ended.

    The backend replaces the state itself in one step, its attributes (type and checksum, which nothing needs) not;
    empty ones make it unable to read the state ("failed to load checkpoint: EOF").
    """
    folder = _folder(backend)
    return [each for each in folder.glob(f"stacks/*/{stack}.json*.attrs") if not _is_json(each)] if folder else []


def _folder(backend: str) -> Path | None:
    try:
        url = urlparse(backend)
    except ValueError:  # the engine says what is wrong with the URL
        return None
    return Path(unquote(url.netloc + url.path)).expanduser() / ".pulumi" if url.scheme == "file" else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def cancel_dead(stack: str, backend: str) -> list[Lock]:
    """Take away the locks of runs that are over, with what is left of their providers and half-written attributes.

    Return the locks. Stop where a run lives, or where that cannot be known. Each lock goes by its own file:
    `pulumi cancel` takes all, also one that another run has just got.
    """
    locks = of_stack(stack, backend)
    for lock in locks:
        if not lock.dead:
            raise Stop(Exit.REFUSED, refusal(stack, lock))
    for lock in locks:
        # a provider that outlived its engine would go on creating what nobody records
        end_session(lock.pid)
        for file in (lock.path, lock.path.with_name(f"{lock.path.name}.attrs")):
            file.unlink(missing_ok=True)
    for file in broken(stack, backend):
        file.unlink(missing_ok=True)
    return locks


def refusal(stack: str, lock: Lock) -> str:
    """Say who holds a stack, and what to do."""
    return f"stack {stack} is locked by {lock}. Wait for it; if it is gone for sure, take its lock away: rm {lock.path}"


def _read(path: Path) -> Lock | None:
    """A lock that vanishes while it is read was given back."""
    try:
        found = json.loads(path.read_text("utf-8"))
        # nanoseconds, which this Python may not read
        since = datetime.strptime(found["timestamp"][:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return Lock(path, int(found["pid"]), found["hostname"], found["username"], since)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(
            Exit.REFUSED, f"the lock {path} cannot be read ({error}); if no run is under way: rm {path}"
        ) from None


def _lives(pid: int, since: datetime) -> bool:
    """Whether the process that took a lock then is there: not ended, not unburied, no later one with its id."""
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        words = ["ps", "-o", "stat=,etime=", "-p", str(pid)]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=20)
        if not (said := done.stdout.split()):
            return False
        begun = datetime.now(timezone.utc) - _elapsed(said[1])
        return not said[0].startswith("Z") and begun <= since + SLACK
    # nothing to ask: taken for alive where the id is in use
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _elapsed(text: str) -> timedelta:
    """Time that a process has run, as ps tells it: [[days-]hours:]minutes:seconds."""
    days, _, clock = text.rpartition("-")
    parts = [0, 0, *map(int, clock.split(":"))]
    return timedelta(days=int(days or 0), hours=parts[-3], minutes=parts[-2], seconds=parts[-1])
