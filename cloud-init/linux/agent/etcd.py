"""This machine's member of etcd, asked by the etcdctl that lies in its image."""

import json
from typing import Any

from failure import Failure
from programs import Ended
from report import say
from run import Run

from agent.configuration import Configuration
from agent.seen import Seen

CONTROL_PLANE = "control-plane"
"""Name of the control plane's group in the members document."""


def etcdctl(run: Run, told: Configuration, *words: str, check: bool = True) -> Ended:
    """What etcdctl ends with. Failure command-failed when it fails (`check`), also where no etcd runs here."""
    containers = run.command(*told["etcd"]["find"]).stdout.split()
    if not containers:
        raise Failure("command-failed", "no container of etcd runs on this machine")
    argv = [containers[0] if word == "CONTAINER" else word for word in told["etcd"]["etcdctl"]]
    return run.command(*argv, *words, check=check)


def leave(run: Run, told: Configuration, name: str) -> None:
    """Take the member of a machine that is gone out of etcd: its successor joins as a new one, and it counts no more.

    kubeadm names members by their nodes; a worker has none. A member that answers is the successor's: kubeadm lets it
    join etcd before its kubelet has a certificate (from 1.33), so before the Node of the machine before it goes.
    """
    said = etcdctl(run, told, "member", "list", "--write-out", "json").stdout
    listed: list[dict[str, Any]] = json.loads(said)["members"]
    for each in (one for one in listed if one.get("name") == name):
        urls = ",".join(each.get("clientURLs") or ())
        if urls and not etcdctl(run, told, "endpoint", "status", "--endpoints", urls, check=False).returncode:
            continue
        etcdctl(run, told, "member", "remove", f"{each['ID']:x}")
        say(f"etcd member {each['ID']:x} of {name} is removed: its machine is gone")


def reconcile(seen: Seen) -> None:
    """Members of machines that the cloud has ended go as soon as that is seen: before their successors join.

    kubeadm would take a member at the same address for the successor's own, which has lost what that one had promised.
    """
    for name, node in seen.nodes().items():
        member = (seen.members or {}).get(name)
        if member and member["pool"] == CONTROL_PLANE and seen.gone(node):
            seen.depart(node)
