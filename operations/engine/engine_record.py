"""Records of the engines that this clone has started, to tell later whether the holder of a lock was one of them.

A lock in a bucket names a process and a host, but hosted runners have the same host name on many machines. A record
remains if this process is killed while its engine runs, or if a signal ends the engine.
"""

import json
import os
import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from operations.stacks import target

LOCKING = frozenset({"up", "refresh", "destroy", "import"})
"""Commands of the engine that lock their stack; `import` as in `stack import`."""


@dataclass(frozen=True)
class EngineRecord:
    """One engine: its process id, this host's name, when it started, and the job of GitLab that it is of."""

    pid: int
    host: str
    began: datetime
    job: str


def job() -> str:
    """Return the id of this process's job at GitLab; empty elsewhere."""
    return os.environ.get("CI_JOB_ID", "")


def _file(stack: str) -> Path:
    return target.root() / ".engines" / f"{stack}.json"


def written(args: Sequence[str], pid: int) -> Path | None:
    """Record an engine that has just started with these arguments; return the file, or None if it locks no stack.

    Records of earlier engines stay: one of them may have left the lock that refuses this one.
    """
    if not LOCKING.intersection(args[:2]) or "--stack" not in args[:-1]:
        return None
    stack = args[args.index("--stack") + 1]
    _write(_file(stack), [*read(stack), EngineRecord(pid, socket.gethostname(), datetime.now(timezone.utc), job())])
    return _file(stack)


def ended(path: Path | None, pid: int) -> None:
    """Delete the record of an engine that has ended. path: as `written` returned it."""
    if path:
        _write(path, [each for each in read(path.stem) if each.pid != pid])


def forget(stack: str, pids: Collection[int]) -> None:
    """Delete the records of a stack's engines with these ids, whose locks are deleted."""
    _write(_file(stack), [each for each in read(stack) if each.pid not in pids])


def read(stack: str) -> list[EngineRecord]:
    """Return the records of a stack's engines that this clone did not see ending, the oldest first."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        rows = json.loads(_file(stack).read_text("utf-8"))
        return [EngineRecord(row["pid"], row["host"], datetime.fromisoformat(row["began"]), row["job"]) for row in rows]
    return []


def _write(path: Path, records: list[EngineRecord]) -> None:
    if records:
        rows = [{**vars(each), "began": each.began.isoformat()} for each in records]
        target.write(path, json.dumps(rows) + "\n")
    else:
        path.unlink(missing_ok=True)
