"""kubeadm init and join, which begin anew after a cut or a failure, on what an earlier try has left."""

import json
import shutil

from run import Run, Step
from writing import write_whole

from kinds.files import MODES

BEGUN = ".begun"
"""Ending of the file beside `done` that says: a try was made."""


def kubeadm_holds(run: Run, step: Step) -> bool:
    """It ran to its end once, or is not due."""
    due = not step.get("requires") or run.path(step["requires"]).exists()
    return not due or run.path(step["done"]).exists()


def make_kubeadm(run: Run, step: Step) -> None:
    """Runs it. What an earlier try made goes first: a cut may have left half of a file."""
    begun, again = run.path(step["done"] + BEGUN), []
    if begun.exists():
        run.command("systemctl", "stop", "kubelet.service")
        for each in step.get("clears", ()):
            clear(run, each)
        if "data" in step and not _restored(run, step):
            # the pods of that try run on without a kubelet, and etcd on files that are gone
            run.command(*step["ends"])
            clear(run, step["data"])
        again = step.get("again", [])
    write_whole(begun, b"", MODES["public"])
    text = json.dumps(step["input"]) if "input" in step else None
    run.command(*step["argv"], *again, text=text)
    write_whole(run.path(step["done"]), b"", MODES["public"])


def _restored(run: Run, step: Step) -> bool:
    """What is there began with a snapshot, whose key the file has."""
    file = run.path(step["snapshot"])
    return file.exists() and bool(file.read_text().strip())


def clear(run: Run, name: str) -> None:
    """Removes a file, or a folder with all in it."""
    path = run.path(name)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
