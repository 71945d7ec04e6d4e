"""Runs the engine in a session of its own, so a terminal's Ctrl-C reaches neither it nor its providers.

The command then decides how to interrupt: let calls in progress finish, or kill the engine.
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

from operations.engine import engine_log
from operations.engine.locate import Engine

Hear = Callable[[str], Any]

_running: list[int] = []
"""Process ids of running engines; each leads the session of its providers."""


class EngineCommand(auto.PulumiCommand):
    """Runs the engine at a known path. The base class would search for it and run `pulumi version` again."""

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
        """Run the engine with these arguments. given: its standard input. Raises CommandError if it fails."""
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
                output = readers.submit(_read, process.stdout, engine_log.recorder(args, on_output))
                errors = readers.submit(_read, process.stderr, engine_log.recorder(args, on_error))
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
    """Return whether an engine runs."""
    return bool(_running)


def interrupt() -> None:
    """Send SIGINT to the engine: it finishes calls in progress and starts no new ones."""
    for pid in _running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


def end() -> None:
    """Kill the engine and its providers."""
    for pid in _running:
        end_session(pid)


def end_session(leader: int) -> list[int]:
    """Kill the remaining processes of an engine's session, and return their ids.

    The system does not reuse the leader's id while a process of the session lives.
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
