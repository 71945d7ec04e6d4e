"""Builds of the DLLs into the cache, with Debian's mingw-w64 from the C sources beside this module."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab import build

HERE = Path(__file__).parent

NAMES = ("computenetwork", "vmcompute", "unixsockets")

COMPILER = "x86_64-w64-mingw32-gcc"
PACKAGE = "gcc-mingw-w64-x86-64-win32"
"""Debian's package of COMPILER."""

FLAGS = ("-shared", "-O2", "-s", "-Wall", "-Wextra", "-Werror")
LIBRARIES = ("-lws2_32", "-lole32")


def place(name: str) -> Path:
    """Return the path of a built DLL."""
    return build.folder() / "windows-dlls" / f"{name}.dll"


def is_built() -> bool:
    """Return whether all are built from the current sources."""
    return all(place(name).is_file() and _stamp(name).is_file() for name in NAMES) and all(
        _stamp(name).read_text("utf-8") == _recipe(name) for name in NAMES
    )


def install(machine: Path) -> None:
    """Copy the DLLs to a machine, if they are built."""
    for name in NAMES if is_built() else ():
        shutil.copyfile(place(name), machine / "drive_c/windows/system32" / f"{name}.dll")


def make(announce: build.Announce) -> None:
    """Build all unless they are built; install the compiler if it is missing. Raises build.NotBuilt."""
    if is_built():
        return
    if not shutil.which(COMPILER):
        _install(announce)
    for name in NAMES:
        announce(f"mullion: building {name}.dll")
        place(name).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="dll-", dir=build.folder()) as scratch:
            product = Path(scratch) / f"{name}.dll"
            _run([COMPILER, *FLAGS, "-o", str(product), str(HERE / f"{name}.c"), *LIBRARIES])
            product.replace(place(name))
        _stamp(name).write_text(_recipe(name), "utf-8")


def _install(announce: build.Announce) -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise build.NotBuilt(f"no {COMPILER}; install Debian's package {PACKAGE}")
    announce(f"mullion: installing {PACKAGE}")
    _run(["apt-get", "update", "-qq"])
    _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", PACKAGE])


def _run(command: list[str]) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, check=False, env=quiet, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise build.NotBuilt(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")


def _stamp(name: str) -> Path:
    return place(name).with_suffix(".recipe")


def _recipe(name: str) -> str:
    """Return compiler, flags and sources as text; a DLL with another recipe is rebuilt."""
    sources = [(HERE / file).read_text("utf-8") for file in ("ask.h", f"{name}.c")]
    return json.dumps([COMPILER, FLAGS, LIBRARIES, sources])


if __name__ == "__main__":
    make(build.say)
