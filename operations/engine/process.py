"""Runs the engine in a session of its own, so a terminal's Ctrl-C reaches neither it nor its providers.

The command then decides how to interrupt: let calls in progress finish, or kill the engine. An engine that changes a
cluster writes into files, not pipes: if this process is killed, the engine ends its calls and releases its lock,
instead of being ended by the next line that it prints (SIGPIPE).
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from pulumi import automation as auto
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from operations.engine import engine_log, engine_record
from operations.engine.locate import Engine

Hear = Callable[[str], Any]

POLL_SECONDS = 0.05
"""Pause between two looks at the engine's output."""
CHUNK = 1 << 20

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
        with ExitStack() as stack:
            # other commands print secrets, which belong into no file
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)] if _outlives(args) else []
            out, err = files or (subprocess.PIPE, subprocess.PIPE)
            process = stack.enter_context(
                subprocess.Popen(
                    [self.command, "--non-interactive", *args],
                    stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    cwd=cwd,
                    env=environment,
                    start_new_session=True,
                )
            )
            readers = stack.enter_context(ThreadPoolExecutor(2))
            _running.append(process.pid)
            record = None
            try:
                record = engine_record.written(args, process.pid)
                streams = (
                    [_followed(each, process) for each in files]
                    if files
                    else [_piped(process.stdout), _piped(process.stderr)]
                )
                heard = [engine_log.recorder(args, hear) for hear in (on_output, on_error)]
                texts = [readers.submit(_read, *each) for each in zip(streams, heard, strict=True)]
                if process.stdin:
                    with suppress(BrokenPipeError), process.stdin:
                        process.stdin.write((given or "").encode())
                result = auto.CommandResult(texts[0].result(), texts[1].result(), process.wait())
            finally:
                _running.remove(process.pid)
                if (process.poll() or 0) >= 0:  # an engine that a signal ended may have left its lock
                    engine_record.ended(record, process.pid)
        if result.code:
            raise create_command_error(result)
        return result


def _outlives(args: list[str]) -> bool:
    """Return whether the engine must outlive this process: its command changes a cluster."""
    return args[0] in engine_log.LOGGED


def _read(lines: Iterator[bytes], hear: Hear | None) -> str:
    texts: list[str] = []
    for line in lines:
        texts.append(line.decode("utf-8", "replace").rstrip())
        if hear:
            hear(texts[-1])
    return "\n".join(texts)


def _piped(stream: IO[bytes] | None) -> Iterator[bytes]:
    yield from stream or ()


def _followed(file: IO[bytes], process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield the lines that a process writes into a file, until it has ended. The process keeps its own position."""
    at, rest = 0, b""
    while True:
        ended = process.poll() is not None  # before the read, so that the last one sees everything
        while text := os.pread(file.fileno(), CHUNK, at):
            at += len(text)
            *lines, rest = (rest + text).split(b"\n")
            yield from lines
        if ended:
            if rest:
                yield rest
            return
        time.sleep(POLL_SECONDS)


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
