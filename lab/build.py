"""Builds the lab's programs into the cache, each once: a program is there whole, or not at all."""

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
"""Takes one line for the person who waits."""

GIVE_UP_SECONDS = 3600
"""A build takes minutes; this ends one that hangs."""


_STAMPED_TOO = {"kube-apiserver": ("k8s.io/client-go/pkg/version",)}
"""Its aggregator answers /version with this one up to some minor (kube-aggregator v0.24 pkg/apiserver/apiserver.go)."""


class NotBuilt(Exception):
    """The program could not be built; the message says what Go said."""


def folder() -> Path:
    """Where the programs are kept."""
    return cache.folder() / "lab"


def place(program: Program) -> Path:
    """Where the program is, once it is built."""
    return folder() / f"{program.module.replace('/', '-')}-{program.version}" / program.os / program.file_name


def is_built(program: Program) -> bool:
    """Whether the program is there, built as it would be built today."""
    stamp = _stamp(program)
    return place(program).is_file() and stamp.is_file() and stamp.read_text("utf-8") == _recipe(program)


def build(program: Program, announce: Announce) -> Path:
    """Build the program unless it is there. NotBuilt says why it cannot be."""
    target = place(program)
    if is_built(program):  # without the lock, which others hold for minutes
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(announce):
        if is_built(program):
            return target
        for stale in folder().glob("building-*"):  # left by a build that was cut; we hold the lock
            shutil.rmtree(stale, ignore_errors=True)
        began = time.monotonic()
        announce(f"mullion: building {program.name} {program.version} for {program.os}")
        with tempfile.TemporaryDirectory(prefix="building-", dir=folder(), ignore_cleanup_errors=True) as scratch:
            # not beside the sources: ours lie in a folder of the program's own name
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
    """What the program is made of, as text: another recipe builds it anew."""
    own = sorted((modules.HERE / program.package).glob("*.go"))
    return json.dumps({"package": program.package, "flags": _flags(program), "own": [each.read_text() for each in own]})


def _flags(program: Program) -> list[str]:
    # Kubernetes' hack/lib/version.sh stamps these; without them a program says v0.0.0 and kubeadm refuses itself
    stamps = {
        "gitVersion": f"v{program.version}",
        "gitMajor": "1",
        "gitMinor": releases.minor(program.version).partition(".")[2],
    }
    stamped = ("k8s.io/component-base/version", *_STAMPED_TOO.get(program.name, ()))
    names = stamped if program.module == KUBERNETES else ()
    used = [f"-X {name}.{key}={value}" for name in names for key, value in stamps.items()]
    return ["-trimpath", "-mod=mod", f"-ldflags={' '.join(['-s', '-w', *used])}"]


def _compile(program: Program, scratch: Path, product: Path, announce: Announce) -> None:
    """CGO_ENABLED: no C compiler is needed. GOWORK: a go.work above must not change what is built."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", "GOTMPDIR": str(scratch)}
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
def _alone(announce: Announce) -> Iterator[None]:
    """One build at a time: two share neither cores nor memory well. The system frees the lock of a dead process."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("mullion: another process is building programs of the lab; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    """Tell the person who waits."""
    print(line, file=sys.stderr, flush=True)
