"""Builds of the lab's programs into the cache, each once and written atomically."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from components import releases
from components.sdk import cache
from lab import modules
from lab.go_toolchain import GoError, find_go
from lab.programs import KUBERNETES, Program

Announce = Callable[[str], None]
"""Prints one line of progress."""

GIVE_UP_SECONDS = 3600
"""Longest build; builds take minutes."""


_STAMPED_TOO = {"kube-apiserver": ("k8s.io/client-go/pkg/version",)}
"""Further packages with version variables: in older minors kube-apiserver's aggregator answers /version with these
(kube-aggregator v0.24 pkg/apiserver/apiserver.go)."""

_STAMPED_MAIN = ("gce-pd-csi-driver",)
"""Programs that do not start without a version of their own (cmd/gce-pd-csi-driver/main.go)."""


class NotBuilt(Exception):
    """A program that could not be built; the message has Go's output."""


def folder() -> Path:
    """Return the folder of all programs."""
    return cache.folder() / "lab"


def place(program: Program) -> Path:
    """Return the path of a built program."""
    return folder() / f"{program.module.replace('/', '-')}-{program.version}" / program.os / program.file_name


def is_built(program: Program) -> bool:
    """Return whether the program is built with its current recipe."""
    stamp = _stamp(program)
    return place(program).is_file() and stamp.is_file() and stamp.read_text("utf-8") == _recipe(program)


def build(program: Program, announce: Announce) -> Path:
    """Build the program unless it is built; return its path. Raises NotBuilt."""
    target = place(program)
    if is_built(program):  # before taking the lock, which another build may hold for minutes
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _build_lock(announce):
        if is_built(program):
            return target
        for stale in folder().glob("building-*"):  # folders of killed builds: only the holder of the lock builds
            shutil.rmtree(stale, ignore_errors=True)
        began = time.monotonic()
        announce(f"mullion: building {program.name} {program.version} for {program.os}")
        with tempfile.TemporaryDirectory(prefix="building-", dir=folder(), ignore_cleanup_errors=True) as scratch:
            # not beside the sources, where a folder may have the program's name
            product = Path(scratch) / "product" / program.file_name
            _compile(program, Path(scratch), product, announce)
            product.replace(target)
            _stamp(program).write_text(_recipe(program), "utf-8")
        announce(f"mullion:   built in {time.monotonic() - began:.0f} s: {target}")
    return target


def _stamp(program: Program) -> Path:
    target = place(program)
    return target.with_name(f"{target.name}.recipe")


def _recipe(program: Program) -> str:
    """Return package, flags and sources in lab/ as text; a program whose recipe changed is rebuilt."""
    own = [file.read_text() for file in sorted((modules.HERE / program.package).glob("*.go"))]
    return json.dumps({"package": program.package, "flags": _flags(program), "own": own})


def _flags(program: Program) -> list[str]:
    # Kubernetes' hack/lib/version.sh stamps these; without them programs report v0.0.0, which kubeadm refuses
    stamps = {
        "gitVersion": f"v{program.version}",
        "gitMajor": "1",
        "gitMinor": releases.minor(program.version).partition(".")[2],
    }
    stamped = ("k8s.io/component-base/version", *_STAMPED_TOO.get(program.name, ()))
    names = stamped if program.module == KUBERNETES else ()
    variables = [f"-X {name}.{key}={value}" for name in names for key, value in stamps.items()]
    if program.name in _STAMPED_MAIN:
        variables.append(f"-X main.version={program.version}")
    tags = ["-tags", program.tags] if program.tags else []
    return ["-trimpath", "-mod=mod", *tags, f"-ldflags={' '.join(['-s', '-w', *variables])}"]


def _compile(program: Program, scratch: Path, product: Path, announce: Announce) -> None:
    """Compile a program. Raises NotBuilt."""
    # CGO_ENABLED=0: no C compiler needed. GOWORK=off: a go.work in a folder above would change the build
    # Without debugging data, and with fewer rounds of garbage collection, the compiler needs a fifth less time
    fixed = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-gcflags=all=-dwarf=false", "GOGC": "400"}
    environment = {**os.environ, **fixed, "GOTMPDIR": str(scratch)}
    target = {"GOOS": program.os, "GOARCH": "amd64"}
    try:
        go = find_go(scratch, announce)
        modules.lay_out(program, scratch, go, environment)
        package = f"./{program.package}" if (scratch / program.package).is_dir() else program.package
        command = [go, "build", *_flags(program), "-o", product, package]
        subprocess.run(
            command,
            cwd=scratch,
            env={**environment, **target},
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GIVE_UP_SECONDS,
        )
    except subprocess.CalledProcessError as failure:
        raise NotBuilt(f"{program.name} {program.version} for {program.os}: {_end(failure.stderr)}") from failure
    except (subprocess.TimeoutExpired, GoError) as failure:
        raise NotBuilt(f"{program.name} {program.version} for {program.os}: {failure}") from failure


def _end(text: str | None) -> str:
    return "\n".join((text or "").strip().splitlines()[-12:])


@contextmanager
def _build_lock(announce: Announce) -> Iterator[None]:
    """Hold the build lock: two builds at a time need too much memory. The kernel frees the lock of a dead process."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("mullion: waiting for another process that builds programs of the lab")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    """Print a line of progress to standard error."""
    print(line, file=sys.stderr, flush=True)
