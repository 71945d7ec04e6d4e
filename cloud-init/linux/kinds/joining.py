"""The way back into the cluster of a machine whose kubelet's certificate has ended; kubeadm makes the first one."""

import json
import time
from pathlib import Path

import announcing
import x509
from failure import Failure
from run import Run, Step
from writing import write_whole

from kinds.files import MODES, bits_of, plain


def is_valid(path: Path, node: str) -> bool:
    """Return whether the file begins with a certificate of this node that has not ended."""
    try:
        der = x509.first(path.read_text(errors="replace"))
        return x509.has_name(der, f"system:node:{node}") and x509.end(der) > time.time()
    except (OSError, ValueError):
        return False


def wanted(run: Run, step: Step) -> bytes:
    """Return the bootstrap kubeconfig with this machine's token."""
    users = step["kubeconfig"].get("users") or [{}]
    document = {
        **step["kubeconfig"],
        "users": [{**users[0], "user": {"token": announcing.announce(run, step["secret"])}}, *users[1:]],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def bootstrap_holds(run: Run, step: Step) -> bool:
    """With a valid certificate, return whether the bootstrap kubeconfig is deleted; else whether it is current."""
    path = run.path(step["path"])
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    if is_valid(run.path(step["certificate"]), step["node"]):
        return not path.exists()
    try:
        content = wanted(run, step)
    except Failure:
        return False
    return plain(path) and bits_of(path) == MODES["private"] and path.read_bytes() == content


def make_bootstrap(run: Run, step: Step) -> None:
    """With a valid certificate, delete the bootstrap kubeconfig; else write it and restart the kubelet, which joins."""
    path, certificate = run.path(step["path"]), run.path(step["certificate"])
    if is_valid(certificate, step["node"]):
        path.unlink(missing_ok=True)
        return
    content = wanted(run, step)
    certificate.unlink(missing_ok=True)  # the kubelet would use one of another node
    write_whole(path, content, MODES["private"])
    run.command("systemctl", "try-restart", "kubelet.service")
