"""Finds the Pulumi engine on this machine, or builds it once from its Go module.

Order: MULLION_PULUMI, PATH, the official installer's copy, Mullion's cache, a build. A copy that is too old or does not
run is reported and skipped, but an unusable one in MULLION_PULUMI is an error.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from components.sdk import cache
from lab.go_toolchain import Announce
from operations.console.exits import EngineError
from operations.engine import build
from operations.engine.build import INSTALL_PAGE

OLDEST = (3, 230, 0)
"""Oldest usable version: it has Stash, replacement triggers and resource hooks."""
VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-\S+)?(\+\S+)?")
"""Output of `pulumi version`: v3.230.0, or 3.231.0-alpha.17+ab12 for a pre-release."""


class Origin(str, Enum):
    """Where an engine was found."""

    NAMED = "MULLION_PULUMI"
    PATH = "PATH"
    INSTALLER = "the official installer"
    CACHE = "Mullion's cache"
    BUILT = "built just now"


@dataclass(frozen=True)
class Engine:
    """A usable Pulumi engine: its program, its version (3.230.0) and where it was found."""

    path: Path
    version: str
    origin: Origin


def say(line: str) -> None:
    """Print one line to standard error; standard output is the command's."""
    print(line, file=sys.stderr, flush=True)


def dotted(version: tuple[int, ...]) -> str:
    """Return (3, 230, 0) as 3.230.0."""
    return ".".join(map(str, version))


def cached_path() -> Path:
    """Return the path of Mullion's own build, whether it exists or not."""
    return cache.folder() / "engine" / dotted(OLDEST) / "pulumi"


def find(announce: Announce = say) -> Engine:
    """Return the engine to use; build one if this machine has none.

    Raises EngineError with the ways to get an engine if none can be had.
    """
    engine = installed(announce)
    if engine:
        return engine
    build.build(cached_path(), dotted(OLDEST), lambda: not _judge(cached_path())[1], announce)
    version, fault = _judge(cached_path())
    if fault:
        raise EngineError(fault)
    return Engine(cached_path(), version, Origin.BUILT)


def installed(announce: Announce = say) -> Engine | None:
    """Return the first usable engine on this machine, or None.

    Raises EngineError if MULLION_PULUMI names an engine that cannot be used.
    """
    for origin, path in _candidates():
        version, fault = _judge(path)
        if not fault:
            return Engine(path, version, origin)
        if origin is Origin.NAMED:
            raise EngineError(f"MULLION_PULUMI: {fault}")
        announce(f"mullion: not used: {fault}")
    return None


def _candidates() -> Iterator[tuple[Origin, Path]]:
    named = os.environ.get("MULLION_PULUMI")
    if named:
        yield Origin.NAMED, Path(named).expanduser().absolute()
    on_path = shutil.which("pulumi")
    if on_path:
        yield Origin.PATH, Path(on_path).absolute()
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    for origin, path in ((Origin.INSTALLER, home / "bin" / "pulumi"), (Origin.CACHE, cached_path())):
        if path.is_file():
            yield origin, path


def _judge(path: Path) -> tuple[str, str]:
    """Return the version of the program at a path, and why it cannot be used (empty if it can)."""
    answer = _probe(path)
    match = VERSION.fullmatch(answer)
    if not match:
        return "", f"{path} is not a Pulumi engine: `pulumi version` prints {answer[:200]!r}; remove or repair it"
    version = (int(match[1]), int(match[2]), int(match[3]))
    # a pre-release (3.230.0-alpha.1) comes before its release
    if version < OLDEST or (version == OLDEST and match[4]):
        return "", (
            f"Pulumi {answer} at {path} is older than {dotted(OLDEST)}; upgrade it ({INSTALL_PAGE}), "
            "or name a newer one with MULLION_PULUMI=/path/to/pulumi"
        )
    return answer.removeprefix("v"), ""


def _probe(path: Path) -> str:
    """Return the output of `pulumi version`, run once for each path, time of change and size."""
    try:
        state = path.stat()
    except OSError as error:
        return str(error)
    identity = hashlib.sha256(f"{path} {state.st_mtime_ns} {state.st_size}".encode()).hexdigest()
    memory = cache.folder() / "engine" / "versions" / identity
    with suppress(OSError, ValueError):
        if VERSION.fullmatch(version := memory.read_text("utf-8")):
            return version
    answer = _ask(path)
    # without a writable cache, `pulumi version` runs each time
    with suppress(OSError):
        if VERSION.fullmatch(answer):
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(answer, "utf-8")
    return answer


def _ask(path: Path) -> str:
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(
            [path, "version"],
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    answer = (done.stdout or done.stderr).strip()
    return answer if done.returncode == 0 else f"exit code {done.returncode}: {answer}"


if __name__ == "__main__":
    try:
        engine = find()
    except EngineError as error:
        sys.exit(f"mullion: {error}")
    print(f"Pulumi engine {engine.version} from {engine.origin.value}: {engine.path}")
