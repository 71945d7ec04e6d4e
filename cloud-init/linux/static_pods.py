"""Static pods of this machine; the kubelet restarts those that are stopped.

config["pods"] has the commands: {find: {component: argv}, stop, running, started} (components/node/agent.py).
"""

import re
from datetime import datetime, timezone
from typing import Any

from run import Run

TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z?")


def stop(run: Run, config: dict[str, Any], *components: str) -> None:
    """Stop the pods of these components: etcd, kube-apiserver, kube-controller-manager, kube-scheduler."""
    for each in components:
        for pod in run.command(*config["pods"]["find"][each]).stdout.split():
            run.command(*config["pods"]["stop"], pod)


def started(run: Run, config: dict[str, Any], component: str) -> float | None:
    """Return the start of the component's container in seconds since 1970, or None if none runs."""
    containers = run.command(*config["pods"]["running"], f"^{component}$").stdout.split()
    if not containers:
        return None
    said = run.command(*config["pods"]["started"], containers[0]).stdout.strip()
    found = TIME.match(said)
    if not found:
        raise ValueError(f"{component} began at {said!r}, which is no time")
    whole = datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    return whole + float(found[2] or 0)
