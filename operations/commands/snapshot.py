"""`mullion snapshot`: have the control plane store a snapshot of etcd now.

The active control-plane agent takes it (cloud-init/linux/agent/snapshots.py).
"""

from pathlib import Path

from components.rollout.plain_text import plain
from operations.commands.configmap_requests import asked
from operations.console.exits import Exit, Stop
from operations.stacks import target

NAME = "mullion-snapshot"
"""Name of the ConfigMap with the request."""


def snapshot(name: str, kubeconfig: Path | None) -> None:
    """Request a snapshot, wait for the agent, and print its key. Raises Stop if the agent fails or does not answer."""
    answer = asked(name, kubeconfig, NAME, {}, "a snapshot")
    if "error" in answer:
        raise Stop(Exit.FAILED, f"the control plane of {name} stored no snapshot: {plain(answer['error'])}")
    key = plain(answer["key"])
    print(f"{name}: stored {key}")
    print(f"Restore it with: {target.command('restore', name)} --snapshot {key}")
