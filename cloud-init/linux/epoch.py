"""Programs that watch the cluster start anew, once, after it came back from a snapshot (`mullion restore`).

They keep what they saw, and ask for what came after that: what a restore took back they would not hear of. From etcd
3.5.10 on its revisions jump at a restore, and who watches lists everything again; before that nothing tells them.
The control plane's agent publishes the epoch of the restore; each machine remembers the last one that it followed.
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
"""In the bundle store: {"epoch": number of the founding's record}; there is none before the first restore."""
FOLLOWED = f"{STATE}/epoch"
SECONDS = 60
KUBELET = ("systemctl", "try-restart", "kubelet.service")
CRICTL = "/usr/local/bin/crictl"
FIND = (CRICTL, "ps", "--quiet", "--state", "Running", "--name", "^(kube-proxy|flannel)$")
"""Their DaemonSets run one of each; the kubelet starts them again."""
STOP = (CRICTL, "stop")


def published(told: dict[str, Any]) -> str:
    """The number; empty where there is none, or the store is out of reach."""
    facts = told["facts"]
    try:
        content = loader.ask(facts, f"{facts['bundle_store'].rstrip('/')}/{OBJECT}", "store", wait=10)
        return str(int(json.loads(content)["epoch"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def follow(told: dict[str, Any], root: Path) -> None:
    """Start them anew where the published epoch is another than the one followed. Failure where that does not work."""
    epoch, place = published(told), root / FOLLOWED.lstrip("/")
    if not epoch or (place.exists() and place.read_text() == epoch):
        return
    ran(KUBELET)
    # a machine that is still being made has no containers, and no runtime to ask
    found = programs.start(FIND, SECONDS) if (root / CRICTL.lstrip("/")).exists() else None
    for container in found.stdout.split() if found and not found.returncode else ():
        ran((*STOP, container))
    write_whole(place, epoch.encode(), 0o600)


def ran(argv: tuple[str, ...]) -> None:
    """A program that must end well."""
    ended = programs.start(argv, SECONDS)
    if ended.returncode:
        raise Failure(
            "command-failed", f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
        )
