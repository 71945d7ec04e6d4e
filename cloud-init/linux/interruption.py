"""Moves this machine's pods away when the cloud announces that it takes a spot machine back; a service of spot pools.

    interruption.py --seconds S --grace G --kubectl FILE --kubeconfig FILE

S: time for the drain, from the announcement. G: longest grace period of a pod in seconds; -1: the pod's own. It acts as
the node itself: a kubelet may cordon its own Node and evict its own pods (plugin/pkg/admission/noderestriction).
"""

import argparse
import sys
import time
from pathlib import Path

import node
import programs
from clouds import CLOUDS, Cloud
from failure import Failure
from report import say

EVERY = 2.0
"""Seconds between two questions to the metadata service."""
AGAIN = 1.0
"""Seconds from a failed drain to the next one."""


def wait(cloud: Cloud) -> None:
    """Return once the cloud has announced that it takes the machine back."""
    while True:
        try:
            if cloud.interrupted():
                return
        except (OSError, ValueError, LookupError) as error:
            say(f"the metadata service does not say whether this machine stays: {type(error).__name__}: {error}")
        time.sleep(EVERY)


def drain(argv: tuple[str, ...], seconds: float) -> bool:
    """Repeat a drain until it succeeds or the time has passed; return whether it succeeded.

    A node may not read a pod that no longer exists, so kubectl can report a refusal after an eviction that succeeded.
    The next drain finds no pod and succeeds.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        try:
            ended = programs.start((*argv, f"--timeout={max(int(left), 1)}s"), left)
            if not ended.returncode:
                return True
            say(f"the drain failed: {ended.stderr.strip()[-500:]}")
        except Failure as failure:
            say(f"the drain failed: {failure}")
        time.sleep(max(min(AGAIN, end - time.monotonic()), 0))
    return False


def command(options: argparse.Namespace, name: str) -> tuple[str, ...]:
    """Return the drain of a Node as the node itself.

    Only pods of DaemonSets have the label pod-template-generation. --ignore-daemonsets would read their DaemonSets,
    which a node may not.
    """
    own = ("--kubeconfig", options.kubeconfig, "--request-timeout=5s")
    left = ("--pod-selector=!pod-template-generation", "--force", "--delete-emptydir-data")
    return (options.kubectl, *own, "drain", name, *left, f"--grace-period={options.grace}")


def main(words: list[str], root: Path = Path("/")) -> None:
    """Wait for the announcement, then drain the Node. systemd starts the service again: it drains until the end."""
    parser = argparse.ArgumentParser(description="Drains this node when the cloud takes its machine back.")
    for name, kind in {"seconds": float, "grace": int, "kubectl": str, "kubeconfig": str}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args(words)
    _, told = node.place(root)
    wait(CLOUDS[told["facts"]["cloud"]])
    say("the cloud takes this machine back: its node is drained")
    done = drain(command(options, told["machine"]["name"]), options.seconds)
    say("the node is drained" if done else f"pods are left after {options.seconds:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
