"""A clean clone for pipelines: the files of the repository, and a .venv that uses the packages of the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from operations.stacks.paths import REPOSITORY

TOMORROW = (
    "from datetime import timedelta; from components.spec import expiry; now = expiry.now; "
    "expiry.now = lambda: now() + timedelta(days=1); from operations.__main__ import main; main()"
)
"""The command, with a clock that is a day ahead."""
MULLION = """#!/bin/bash
export PYTHONPATH={clone}
if [[ -n ${{RECORD:-}} ]]; then
  printf '%s\\n' "$(printf '%q ' "$@")" >>"$RECORD"
  exit "${{RECORDED_CODE:-0}}"
fi
[[ -n ${{TOMORROW:-}} ]] && exec {python} -c "$TOMORROW" "$@"
exec {python} -m operations "$@"
"""
STAMPS = (
    "import sys; sys.path.insert(0, 'tools'); import setup; "
    "[(setup.VENV / f'.{step.name}').write_text(setup.stamp(step)) for step in setup.STEPS]"
)
"""Writes the stamps of a .venv that is up to date."""


def make(folder: Path) -> Path:
    """Copy the repository's files into a folder, with a .venv for which `make engine` has nothing to install."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("tests/", "docs/")) or not (REPOSITORY / name).is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    python = programs / "python"
    python.write_text(f'#!/bin/bash\nexport PYTHONPATH={folder}\nexec {sys.executable} "$@"\n')
    (programs / "mullion").write_text(MULLION.format(clone=folder, python=sys.executable))
    for program in programs.iterdir():
        program.chmod(0o755)
    subprocess.run([sys.executable, "-c", STAMPS], cwd=folder, check=True)
    return folder


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a job: no credentials of this machine, the tests' Python first on PATH."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "AWS_", "ARM_", "GOOGLE_"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "XDG_CACHE_HOME": str(folder / "cache"), **more}
