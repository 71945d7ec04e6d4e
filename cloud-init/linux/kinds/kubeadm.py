"""kubeadm init and join, run again from the start after a power loss or a failure."""

import json
import shutil
import time

from failure import Failure
from run import Run, Step
from writing import write_whole

from kinds.endpoint import POLL_SECONDS, api_version, numbers
from kinds.files import MODES

BEGUN = ".begun"
"""Suffix of the file beside `done` that records an attempt."""


def kubeadm_holds(run: Run, step: Step) -> bool:
    """Return whether kubeadm succeeded once, or is not due."""
    due = not step.get("requires") or run.path(step["requires"]).exists()
    return not due or run.path(step["done"]).exists()


def make_kubeadm(run: Run, step: Step) -> None:
    """Run kubeadm. First remove the files of an earlier attempt: a power loss may have cut them off."""
    begun, again = run.path(step["done"] + BEGUN), []
    if begun.exists():
        run.command("systemctl", "stop", "kubelet.service")
        for each in step.get("clears", ()):
            clear(run, each)
        if "data" in step and not _restored(run, step):
            # static pods of that attempt run on without a kubelet, and etcd would keep deleted files open
            run.command(*step["ends"])
            clear(run, step["data"])
        again = step.get("again", [])
    write_whole(begun, b"", MODES["public"])
    text = json.dumps(_input(run, step)) if "input" in step else None
    run.command(*step["argv"], *again, text=text)
    write_whole(run.path(step["done"]), b"", MODES["public"])


def _input(run: Run, step: Step) -> object:
    """Return the document for kubeadm. A control plane may join while the cluster's upgrade is under way."""
    if "older_input" not in step:
        return step["input"]
    while (answered := api_version(run, step)) is None:
        if run.left() < POLL_SECONDS:
            raise Failure("wait-timeout", f"{step['url']} does not tell its version")
        time.sleep(POLL_SECONDS)
    return step["input"] if answered >= numbers(step["version"]) else step["older_input"]


def _restored(run: Run, step: Step) -> bool:
    """Return whether etcd's data were restored from a snapshot; the file has its key."""
    file = run.path(step["snapshot"])
    return file.exists() and bool(file.read_text().strip())


def clear(run: Run, name: str) -> None:
    """Remove a file, or a folder with its content."""
    path = run.path(name)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
