"""Runs of `mullion` in a process of its own, in the portal's clone."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from components.rollout.plain_text import plain
from operations.engine.workspace import REMOVED
from portal import folders

MOST_CHARACTERS = 40_000
"""Length of the kept output: its end."""
END_SECONDS = 60
"""Seconds that an interrupted process has to end."""
LOST_SECONDS = 30
"""Seconds without a beat after which the worker of a job or an inquiry counts as killed."""
Process = subprocess.Popen[str]


def run(words: Sequence[str], seen: Callable[[Process, str], None], output: Path | None = None) -> int:
    """Run `mullion`, and return its exit code. Its environment lacks clouds' credentials and the portal's secrets.

    seen: called each second with the process and the end of what it printed. output: file that gets standard output,
    which is then not in the text.
    """
    folder = folders.clone()
    kept = {key: each for key, each in os.environ.items() if not key.startswith((*REMOVED, "MULLION_PORTAL_"))}
    if "MULLION_PULUMI" in os.environ:
        kept["MULLION_PULUMI"] = os.environ["MULLION_PULUMI"]
    with (output or Path(os.devnull)).open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "operations", *words],
            cwd=folder,
            env={**kept, "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file if output else subprocess.PIPE,
            stderr=subprocess.PIPE if output else subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            _follow(process, seen)
        finally:
            _end(process)
        return process.wait()


def _follow(process: Process, seen: Callable[[Process, str], None]) -> None:
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    while process.poll() is None:
        reader.join(1)
        seen(process, "\n".join(lines)[-MOST_CHARACTERS:])
        if not reader.is_alive():
            time.sleep(0.1)  # it closed its output, and ends
    reader.join(1)  # not longer: a process that it started may hold its output open
    seen(process, "\n".join(lines)[-MOST_CHARACTERS:])


def _end(process: Process) -> None:
    """Interrupt a process that nobody follows any more; kill it if it does not end."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read(process: Process, lines: list[str]) -> None:
    stream = process.stdout or process.stderr
    if stream is None:
        return
    with stream:
        for line in stream:
            lines.append(plain(line.rstrip()))  # noqa: PERF401 - the other thread reads them as they come
