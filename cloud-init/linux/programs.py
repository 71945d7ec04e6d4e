"""Programs that a run starts, each in its own process group, which is killed after a timeout."""

import os
import signal
import subprocess
from typing import NamedTuple

from failure import Failure


class Ended(NamedTuple):
    """Exit code and output of a program."""

    returncode: int
    stdout: str
    stderr: str


def start(argv: tuple[str, ...], seconds: float, environment: dict[str, str] | None = None, text: str = "") -> Ended:
    """Run a program to its end with `text` on its standard input. Raise Failure command-timeout or command-failed.

    Input and output are files in memory: a daemon that keeps them open does not block the run, and a secret passed as
    input is on no disk.
    """
    streams = [open(os.memfd_create(name), "w+b") for name in ("stdin", "stdout", "stderr")]  # noqa: SIM115
    try:
        streams[0].write(text.encode())
        streams[0].seek(0)
        code = _wait(argv, seconds, {**os.environ, **(environment or {})}, *(each.fileno() for each in streams))
        for each in streams:
            each.seek(0)
        return Ended(code, *(each.read().decode(errors="replace") for each in streams[1:]))
    finally:
        for each in streams:
            each.close()


def ran(argv: tuple[str, ...], seconds: float) -> None:
    """Run a program to its end. Raise Failure command-failed for another exit code than 0."""
    ended = start(argv, seconds)
    if ended.returncode:
        words, said = " ".join(argv), ended.stderr.strip()[-300:]
        raise Failure("command-failed", f"{words} ended with {ended.returncode}: {said}")


def _wait(argv: tuple[str, ...], seconds: float, environment: dict[str, str], *streams: int) -> int:
    stdin, stdout, stderr = streams
    try:
        process = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, start_new_session=True
        )
    except OSError as error:
        raise Failure("command-failed", f"{argv[0]} cannot be started: {error}") from None
    try:
        return process.wait(max(seconds, 0))
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failure("command-timeout", f"{argv[0]} took longer than {seconds:.0f} s and was killed") from None
        raise
