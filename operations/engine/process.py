"""The engine as a process: in a session of its own, so that a terminal's Ctrl-C reaches neither it nor its providers.

What it does on an interruption is then ours to say: stop in good order, or end at once.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pulumi import automation as auto
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from operations.engine.locate import Engine

Hear = Callable[[str], Any]

_running: list[int] = []
"""Process ids of engines that this process waits for; each leads the session of its providers."""


class EngineCommand(auto.PulumiCommand):
    """Exactly the engine that was found. The base class would look it up and ask its version again."""

    def __init__(self, engine: Engine) -> None:
        self.command = str(engine.path)
        self.version = VersionInfo.parse(engine.version)

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Hear | None = None,
        on_error: Hear | None = None,
        given: str | None = None,
    ) -> auto.CommandResult:
        """Run the engine with these arguments, and what is given as its standard input; CommandError where it fails."""
        beside = f"{Path(self.command).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **additional_env, "PATH": beside, "PULUMI_AUTOMATION_API": "true"}
        with (
            subprocess.Popen(
                [self.command, "--non-interactive", *args],
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=environment,
                encoding="utf-8",
                start_new_session=True,
            ) as process,
            ThreadPoolExecutor(2) as readers,
        ):
            _running.append(process.pid)
            try:
                output = readers.submit(_read, process.stdout, on_output)
                errors = readers.submit(_read, process.stderr, on_error)
                if process.stdin:
                    with suppress(BrokenPipeError), process.stdin:
                        process.stdin.write(given or "")
                result = auto.CommandResult(output.result(), errors.result(), process.wait())
            finally:
                _running.remove(process.pid)
        if result.code:
            raise create_command_error(result)
        return result


def _read(stream: IO[str] | None, hear: Hear | None) -> str:
    lines: list[str] = []
    for line in stream or ():
        lines.append(line.rstrip())
        if hear:
            hear(lines[-1])
    return "\n".join(lines)


def running() -> bool:
    """Whether an engine works for this process."""
    return bool(_running)


def interrupt() -> None:
    """Ask the engine to stop: calls under way end, no others begin."""
    for pid in _running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


def end() -> None:
    """End the engine and its providers at once."""
    for pid in _running:
        end_session(pid)


def end_session(leader: int) -> list[int]:
    """End what is left of an engine's session, and return those processes' ids.

    While a member lives, no other process gets the leader's id: who is in its session was started by it.
    """
    ended: list[int] = []
    for pid in _members(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            ended.append(pid)
    return ended


def _members(leader: int) -> Iterator[int]:
    try:
        done = subprocess.run(["ps", "-A", "-o", "pid="], check=True, capture_output=True, text=True, timeout=20)
        pids = [int(word) for word in done.stdout.split()]
    except (OSError, subprocess.SubprocessError, ValueError):
        pids = [leader]
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader:
                yield pid
