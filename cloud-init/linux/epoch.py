"""Restarts programs that watch the cluster, once, after a restore from a snapshot (`mullion restore`).

They cache objects and watch for newer revisions, so they would miss what the restore rolled back. From etcd 3.5.10 on
a restore bumps the revision and watchers list everything again; earlier versions give no signal. The control plane's
agent publishes the epoch of the restore; each machine remembers the last epoch it followed.
"""

import json
from pathlib import Path
from typing import Any

import containers
import loader
import programs
from run import STATE
from writing import write_whole

OBJECT = "epoch.json"
"""Object of the bundle store: {"epoch": number of the founding record}; missing before the first restore."""
LARGEST = 4096
"""Maximum bytes of the object."""
FOLLOWED = f"{STATE}/epoch"
SECONDS = 60
KUBELET = ("systemctl", "try-restart", "kubelet.service")
NODE_PROGRAMS = ("kube-proxy", "flannel")
"""Containers that every node has, from DaemonSets."""
WATCHERS = (*NODE_PROGRAMS, "coredns", "metrics-server")
"""The same, and those of Deployments in kube-system that watch the cluster."""
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
    restart(root, WATCHERS)
    write_whole(place, epoch.encode(), 0o600)


def restart(root: Path, names: tuple[str, ...] = NODE_PROGRAMS) -> None:
    """Restart the kubelet and the containers with these names. Raise Failure if that fails."""
    programs.ran(KUBELET, SECONDS)
    containers.restart(root, *names)


def start_executor() -> None:
    """Start the executor unless it runs. Raise Failure if that fails."""
    if programs.start(SHOW, SECONDS).stdout.strip() != "activating":
        programs.ran(EXECUTOR, SECONDS)
