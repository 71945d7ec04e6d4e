"""Builds programs from Go modules that folders of tools/ pin; each once, into the cache.

`python -m tools.go_programs` builds the language host of Pulumi YAML (`make languages`).
"""

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from components.sdk import cache
from lab import go_toolchain

TOOLS = go_toolchain.TOOLS
YAML_HOST = TOOLS / "pulumi-yaml"
"""Pins pulumi-language-yaml, which runs programs in YAML for the engine."""


def place(pins: Path) -> Path:
    """Return where the program of a folder's go.mod is or will be: one file for each version."""
    text = (pins / "go.mod").read_text("utf-8")
    program = package(text)
    module = program.partition("/cmd/")[0]
    version = re.search(rf"^\s*{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if not version:
        raise go_toolchain.GoError(f"{pins / 'go.mod'} does not require {module}; run go get -tool {program}")
    return cache.folder() / pins.name / version[1] / program.rpartition("/")[2]


def built(pins: Path, announce: Callable[[str], None] = print) -> Path:
    """Return the program of a folder's go.mod; build it if the cache lacks it. Raises GoError."""
    target, program = place(pins), package((pins / "go.mod").read_text("utf-8"))
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as scratch:
            go, product = go_toolchain.find_go(Path(scratch), announce), Path(scratch) / target.name
            announce(f"mullion: building {target.name} {target.parent.name}; once, one to four minutes")
            command: list[str | Path] = [go, "build", "-trimpath", "-mod=readonly", "-o", product, program]
            go_toolchain.run(command, pins, Path(scratch) / "log", announce)
            product.replace(target)
    return target


def package(text: str) -> str:
    """Return the package of the tool that a go.mod names."""
    return next(line.split()[1] for line in text.splitlines() if line.startswith("tool "))


if __name__ == "__main__":
    try:
        print(built(YAML_HOST))
    except go_toolchain.GoError as error:
        sys.exit(f"mullion: {error}")
