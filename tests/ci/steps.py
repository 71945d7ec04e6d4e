"""Starts the scripts of CI steps as the runner programs of GitHub, GitLab and Azure do, and cancels them likewise."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

INTERRUPT_SECONDS, TERMINATE_SECONDS = 7.5, 2.5
"""Time after SIGINT and after SIGTERM, before SIGKILL; GitHub signals the first process of a step alone
(docs.github.com, "Workflow cancellation reference")."""
CONTAINER_SECONDS = 3.0
"""Time after SIGTERM before a container is removed."""
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Ended:
    """A script that ended. code: 128 + n after signal n. output: both streams."""

    code: int
    output: str
    cancelled: bool = False


def run(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    cancel: Callable[[], bool] | None = None,
    patience: tuple[float, float] = (INTERRUPT_SECONDS, TERMINATE_SECONDS),
    timeout: float = 120,
    container: str = "",
) -> Ended:
    """Run a script; once `cancel` returns true, cancel it as GitHub cancels a step.

    container: variable NAME=VALUE of all its processes; it is then cancelled as GitLab's docker executor does.
    """
    log = folder / ".step.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        cancelled, end = False, time.monotonic() + timeout
        try:
            while process.poll() is None:
                if cancel and cancel():
                    cancelled = True
                    _cancel_container(container) if container else _cancel(process, patience)
                elif time.monotonic() > end:
                    raise AssertionError(f"{words} still runs after {timeout} s:\n{log.read_text(errors='replace')}")
                time.sleep(POLL_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    code = process.returncode
    output = log.read_text(errors="replace")
    log.unlink()
    return Ended(128 - code if code < 0 else code, output, cancelled)


def _cancel(process: "subprocess.Popen[bytes]", patience: tuple[float, float]) -> None:
    for number, seconds in zip((signal.SIGINT, signal.SIGTERM), patience, strict=True):
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def _cancel_container(mark: str) -> None:
    """Send SIGTERM to all processes of a container, the youngest first, then end it with all of them.

    So does GitLab's docker executor (gitlab-runner, executors/docker: its script for `exec` lists /proc in descending
    order): providers of the engine get the signal before the engine and `mullion`.
    """
    for number, seconds in ((signal.SIGTERM, CONTAINER_SECONDS), (signal.SIGKILL, 0)):
        for pid in sorted(_marked(mark), reverse=True):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(seconds)


def _marked(mark: str) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if mark.encode() in (place / "environ").read_bytes().split(b"\0") and int(place.name) != os.getpid():
                yield int(place.name)
