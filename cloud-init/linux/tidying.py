"""Deletes archives of earlier versions, which a control plane that is upgraded in place for years would collect."""

from pathlib import PurePosixPath

from report import say
from run import Run


def tidy(run: Run) -> None:
    """Delete files that no step of the plan names from its private folders with archives. A failure ends no run.

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
