"""This machine's member of etcd, asked by the etcdctl that lies in its image."""

import json
from typing import Any

from failure import Failure
from report import say
from run import Run

from agent.configuration import Configuration


def etcdctl(run: Run, told: Configuration, *words: str) -> str:
    """What etcdctl says. Failure command-failed, also where no etcd runs here."""
    containers = run.command(*told["etcd"]["find"]).stdout.split()
    if not containers:
        raise Failure("command-failed", "no container of etcd runs on this machine")
    argv = [containers[0] if word == "CONTAINER" else word for word in told["etcd"]["etcdctl"]]
    return run.command(*argv, *words).stdout


def leave(run: Run, told: Configuration, name: str) -> None:
    """Take the member of a machine that is gone out of etcd: its successor joins as a new one, and it counts no more.

    kubeadm names members by their nodes; a worker has none.
    """
    listed: list[dict[str, Any]] = json.loads(etcdctl(run, told, "member", "list", "--write-out", "json"))["members"]
    for each in listed:
        if each.get("name") == name:
            etcdctl(run, told, "member", "remove", f"{each['ID']:x}")
            say(f"etcd member {each['ID']:x} of {name} is removed: its machine is gone")
