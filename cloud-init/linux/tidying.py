"""Deletes what a control plane that is changed in place for years would collect: archives of versions, bundles."""

import shutil
from pathlib import Path, PurePosixPath

import loader
from report import say
from run import Run


def tidy(run: Run, folder: Path) -> None:
    """Delete old archives and bundles; folder: the bundle of this run. A failure ends no run."""
    delete_archives(run)
    delete_bundles(run, folder)


def delete_archives(run: Run) -> None:
    """Delete files that no step of the plan names from its private folders with archives.

    Partial downloads go too: the plan is done, so none of them is continued.
    """
    steps = [step for phase in run.plan["phases"] for step in phase["steps"]]
    archives = [step["source"] for step in steps if step["kind"] == "archive" and isinstance(step["source"], str)]
    named = {step["path"] for step in steps if isinstance(step.get("path"), str)} | set(archives)
    own = {each["path"] for each in steps if each["kind"] == "directory" and each.get("access") == "private"}
    for folder in sorted(own & {str(PurePosixPath(each).parent) for each in archives}):
        for file in sorted(run.path(folder).glob("*")):
            if f"{folder}/{file.name}" in named or file.is_symlink() or not file.is_file():
                continue
            try:
                file.unlink()
            except OSError as error:
                say(f"{folder}/{file.name} cannot be deleted: {error}", "failed")
            else:
                say(f"{folder}/{file.name} is deleted: the plan does not use it")


def delete_bundles(run: Run, folder: Path) -> None:
    """Delete unpacked bundles except the current one, this run's, and the newest other one.

    The agent may still run from the bundle before, or have unpacked the next one. Names with a dot are incomplete.
    """
    home = run.path(str(loader.HOME))
    used = {folder.name, (home / "current").resolve().name}
    others = [each for each in (home / "bundles").glob("[!.]*") if each.name not in used]
    for each in sorted(others, key=lambda bundle: bundle.stat().st_mtime)[:-1]:
        delete_folder(each, f"bundle {each.name}")


def delete_folder(folder: Path, what: str, why: str = "") -> None:
    """Delete a folder, and say so. A failure is said too, and ends nothing. why: ends the message of a success."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        say(f"{what} cannot be deleted: {error}", "failed")
    else:
        say(f"{what} is deleted{why}")
