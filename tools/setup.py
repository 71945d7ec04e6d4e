"""Sets up .venv: the packages of requirements.lock, by hash, and the clone itself as an editable install.

Run by every `make` target. Each step writes a digest of its inputs (a stamp), and runs again only when
the digest changes; with nothing to do this takes a few hundredths of a second and needs no network.
Standard library only: it runs under the machine's own Python (3.10 or newer).
"""

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST = (3, 10)


class Step(NamedTuple):
    """Commands to run when the digest of the inputs differs from the stamp."""

    name: str
    doing: str
    inputs: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]


PYTHON = str(VENV / "bin" / "python")
BASE = str(getattr(sys, "_base_executable", None) or sys.executable)
"""The Python outside of any virtual environment: the one of .venv cannot create .venv again."""
PIP = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
STEPS = (
    Step(
        "packages",
        "installing the packages of requirements.lock into .venv; once, a minute or two",
        ("requirements.lock",),
        # --clear removes packages that the lock no longer names, and both stamps.
        # --no-deps: the lock names every package, and older releases of pip require a package with extras twice.
        (
            (BASE, "-m", "venv", "--clear", str(VENV)),
            (*PIP, "--no-deps", "--require-hashes", "-r", "requirements.lock"),
        ),
    ),
    Step(
        "clone",
        "installing this clone into .venv",
        ("pyproject.toml",),
        # The build backend comes from the lock, not from an environment that pip would download for it.
        ((*PIP, "--no-deps", "--no-build-isolation", "--editable", "."),),
    ),
)


def stamp(step: Step) -> str:
    """Return a digest of the step's inputs, this Python's version and this folder (a moved .venv is broken).

    The interpreter's path is left out, because .venv's own Python may be first on PATH.
    """
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in step.inputs:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def missing_modules() -> list[str]:
    """Return the modules for `python -m venv` that this Python lacks; Debian has them in a separate package."""
    return [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]


def run(step: Step) -> None:
    """Run the step's commands and write its stamp; on failure exit with the command and what to do."""
    print(f"mullion: {step.doing}", file=sys.stderr, flush=True)
    for command in step.commands:
        code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
        if code != 0:
            sys.exit(f"mullion: set-up stopped at: {' '.join(command)}\nFix the error above, then try again.")
    (VENV / f".{step.name}").write_text(stamp(step), "utf-8")


def main() -> None:
    """Update .venv to the lock and the clone."""
    version = "{}.{}".format(*sys.version_info)
    if sys.version_info < OLDEST:
        sys.exit(
            f"mullion: {sys.executable} is Python {version}, but 3.10 or newer is needed: make PYTHON=/path/to/python"
        )
    for step in STEPS:
        made_from = VENV / f".{step.name}"
        if made_from.is_file() and made_from.read_text("utf-8") == stamp(step):
            continue
        if lacking := missing_modules():
            sys.exit(
                f"mullion: {sys.executable} lacks {' and '.join(lacking)}, which creating .venv needs.\n"
                f"Debian and Ubuntu: apt-get install python{version}-venv; elsewhere: make PYTHON=/path/to/another"
            )
        if VENV.is_symlink():
            sys.exit(
                f"mullion: {VENV} is a link to {VENV.resolve()}, which set-up would empty; remove the link: rm .venv"
            )
        run(step)


if __name__ == "__main__":
    main()
