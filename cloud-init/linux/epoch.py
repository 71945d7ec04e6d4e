"""Restarts programs that watch the cluster, once, after a restore from a snapshot (`mullion restore`).

They cache objects and watch for newer revisions, so they would miss what the restore rolled back. From etcd 3.5.10 on
a restore bumps the revision and watchers list everything again; earlier versions give no signal. The control plane's
agent publishes the epoch of the restore; each machine remembers the last epoch it followed.
"""

import json
from pathlib import Path
from typing import Any

import loader
import programs
from failure import Failure
from run import STATE
from writing import write_whole

OBJECT = "epoch.json"
"""Object of the bundle store: {"epoch": number of the founding record}; missing before the first restore."""
LARGEST = 4096
"""Maximum bytes of the object."""
FOLLOWED = f"{STATE}/epoch"
SECONDS = 60
KUBELET = ("systemctl", "try-restart", "kubelet.service")
CRICTL = "/usr/local/bin/crictl"
FIND = (CRICTL, "ps", "--quiet", "--state", "Running", "--name", "^(kube-proxy|flannel)$")
"""Each has one container per node, from a DaemonSet; the kubelet restarts it."""
STOP = (CRICTL, "stop")
SHOW = ("systemctl", "show", "--property=ActiveState", "--value", "mullion.service")
EXECUTOR = ("systemctl", "restart", "--no-block", "mullion.service")


def published(told: dict[str, Any]) -> str:
    """Return the epoch; empty if it is missing or the store is unreachable."""
    facts = told["facts"]
    try:
        content = loader.ask(facts, f"{facts['bundle_store'].rstrip('/')}/{OBJECT}", "store", wait=10, most=LARGEST)
        return str(int(json.loads(content)["epoch"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def follow(told: dict[str, Any], root: Path) -> None:
    """Restart the programs if the published epoch differs from the one followed last. Raise Failure if that fails."""
    epoch, place = published(told), root / FOLLOWED.lstrip("/")
    if not epoch or (place.exists() and place.read_text() == epoch):
        return
    restart(root)
    write_whole(place, epoch.encode(), 0o600)


def restart(root: Path) -> None:
    """Restart the programs that watch the cluster. Raise Failure if that fails."""
    ran(KUBELET)
    # a machine in its first run has no container runtime yet
    found = programs.start(FIND, SECONDS) if (root / CRICTL.lstrip("/")).exists() else None
    for container in found.stdout.split() if found and not found.returncode else ():
        ran((*STOP, container))


def start_executor() -> None:
    """Start the executor unless it runs. Raise Failure if that fails."""
    if programs.start(SHOW, SECONDS).stdout.strip() != "activating":
        ran(EXECUTOR)


def ran(argv: tuple[str, ...]) -> None:
    """Run a program. Raise Failure command-failed for another exit code than 0."""
    ended = programs.start(argv, SECONDS)
    if ended.returncode:
        raise Failure(
            "command-failed", f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
        )
