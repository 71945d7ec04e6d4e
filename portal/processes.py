"""Runs of `mullion` in a process of its own, in the portal's clone."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from components.rollout.plain_text import plain
from operations.engine.workspace import REMOVED
from portal import folders

MOST_CHARACTERS = 40_000
"""Length of the kept output: its end."""
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
        with process:
            _follow(process, seen)
            return process.wait()


def _follow(process: Process, seen: Callable[[Process, str], None]) -> None:
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    while reader.is_alive():
        reader.join(1)
        seen(process, "\n".join(lines)[-MOST_CHARACTERS:])


def _read(process: Process, lines: list[str]) -> None:
    for line in process.stdout or process.stderr or ():
        lines.append(plain(line.rstrip()))  # noqa: PERF401 - the other thread reads them as they come
