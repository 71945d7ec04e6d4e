"""Members of etcd, managed with the etcdctl in the image of this machine's etcd."""

import json
from typing import Any

from failure import Failure
from programs import Ended
from report import say
from run import Run

from agent.configuration import Configuration
from agent.seen import Seen

CONTROL_PLANE = "control-plane"
"""Name of the control plane's pool in the members document."""


def etcdctl(run: Run, config: Configuration, *words: str, check: bool = True) -> Ended:
    """Run etcdctl. Raise Failure command-failed if it fails (with `check`) or no etcd runs on this machine."""
    return run.command(*client(run, config, config["etcd"]["etcdctl"]), *words, check=check)


def client(run: Run, config: Configuration, argv: list[str]) -> list[str]:
    """Return the command with the container of this machine's etcd in the place of CONTAINER. Raise Failure."""
    containers = run.command(*config["etcd"]["find"]).stdout.split()
    if not containers:
        raise Failure("command-failed", "no container of etcd runs on this machine")
    return [containers[0] if word == "CONTAINER" else word for word in argv]


def leave(run: Run, config: Configuration, name: str) -> None:
    """Remove a deleted machine's etcd member: it must not count for quorum, and its successor joins as a new one.

    kubeadm names members by Node; a worker has none. A member that answers is the successor's: from 1.33 on kubeadm
    joins it to etcd before its kubelet has a certificate, so while the old Node object still exists.
    """
    said = etcdctl(run, config, "member", "list", "--write-out", "json").stdout
    listed: list[dict[str, Any]] = json.loads(said)["members"]
    for member in (one for one in listed if one.get("name") == name):
        urls = ",".join(member.get("clientURLs") or ())
        if urls and not etcdctl(run, config, "endpoint", "status", "--endpoints", urls, check=False).returncode:
            continue
        etcdctl(run, config, "member", "remove", f"{member['ID']:x}")
        say(f"etcd member {member['ID']:x} of {name} is removed: its machine is deleted")


def outdated(run: Run, config: Configuration) -> str:
    """Return why etcd cannot go on to the planned Kubernetes' version; empty if it can.

    Every member must answer and have at least the plan's oldest version.
    """
    least: str = config["etcd"]["least"]
    if not least:
        return ""
    ended = etcdctl(run, config, "endpoint", "status", "--cluster", "--write-out", "json", check=False)
    if ended.returncode:
        return "a member of etcd does not answer, and all have to before etcd's next minor version"
    old = {each["Endpoint"]: each["Status"]["version"] for each in json.loads(ended.stdout)}
    behind = [f"{where} has {have}" for where, have in sorted(old.items()) if numbers(have) < numbers(least)]
    if not behind:
        return ""
    return (
        f"etcd has to be {least} or newer on every machine ({', '.join(behind)}), else removed members come back: "
        "write the Kubernetes version that the cluster has, run `mullion up`, then go on to the next one"
    )


def numbers(version: str) -> tuple[int, ...]:
    """Return a version of etcd as numbers, without a suffix such as -rc.0."""
    return tuple(map(int, version.partition("-")[0].split(".")))


def reconcile(seen: Seen) -> None:
    """Remove members whose machines the cloud has deleted, before their successors join.

    kubeadm takes an existing member with the successor's address for the successor's, but the successor lacks that
    member's raft log.
    """
    for name, node in seen.nodes().items():
        member = (seen.members or {}).get(name)
        if member and member["pool"] == CONTROL_PLANE and seen.gone(node):
            seen.depart(node)
