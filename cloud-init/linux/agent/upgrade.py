"""A step of the control plane's plan: kubeadm updates the static pods to the planned ClusterConfiguration.

Runs only in this machine's turn, before the plan starts the newer kubelet. The first machine to have the turn uploads
the configuration and applies it; the others take it from the cluster. kubeadm refuses a downgrade and a jump over a
minor version. After an interruption it starts over: kubeadm's commands may be repeated.
"""

import sys
from pathlib import Path

from failure import Failure
from report import say
from run import Run
from writing import write_whole

from agent import configuration, etcd, kubeadm_backups, signing
from agent.api import Api, Refused, Unreachable, from_kubeconfig
from agent.memory import Memory, keep

API_SERVERS = "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver"
SECONDS = 1700
"""Timeout in seconds of all commands together; the step has 1800."""


def commands(planned: str, here: str, cluster: str) -> str | None:
    """Return which list of the plan's commands to run; None if the static pods are as planned.

    Arguments: digests of the configuration in the plan, on this machine and in the cluster.
    """
    if planned == here:
        return None
    return "node" if planned == cluster else "apply"


def stamp(run: Run) -> str:
    """Return the digest of this machine's configuration; empty before `settle` recorded it."""
    place = run.path(configuration.STAMP)
    return place.read_text().strip() if place.exists() else ""


def settle(run: Run, config: configuration.Configuration, api: Api) -> bool:
    """Record the configuration with which this machine was created; return False while it is unknown.

    The founder was created from its plan; other machines join with the cluster's configuration.
    """
    if stamp(run):
        return True
    memory = Memory(api)
    founder = run.path(config["founder"]).exists()
    if founder and not memory.values.get("applied") and not memory.write(applied=config["digest"]):
        return False
    if applied := memory.values.get("applied"):
        write_whole(run.path(configuration.STAMP), applied.encode(), 0o644)
    return bool(applied)


def level(api: Api) -> bool:
    """Return whether all API servers run one image; kubeadm updates add-ons only then, and `last` waits for it."""
    pods = api.call("GET", API_SERVERS)["items"]
    return len({each["image"] for pod in pods for each in pod["spec"]["containers"]}) == 1


def upgrade(run: Run) -> str:
    """Run the commands; return which list was run."""
    config = configuration.read(run.root)
    run.try_for(SECONDS)
    memory = Memory(from_kubeconfig(run.path(config["kubeconfig"])))
    chosen = commands(config["digest"], stamp(run), memory.values.get("applied", ""))
    if chosen == "apply" and (why := etcd.outdated(run, config)):
        raise Failure("command-failed", why)
    kubeadm_backups.delete(run, again=chosen is not None)
    if chosen is None:
        return "nothing"
    for argv in config["upgrade"][chosen]:
        run.command(*argv)
    # kubeadm has restarted the API server, renewed the administrator's certificate, and bound automatic approvals again
    api = from_kubeconfig(run.path(config["kubeconfig"]))
    signing.close(api)
    if level(api):
        for argv in config["upgrade"]["last"]:
            run.command(*argv)
    if chosen == "apply" and not keep(api, applied=config["digest"]):
        raise Failure("command-failed", "other agents changed the shared memory five times in a row")
    write_whole(run.path(configuration.STAMP), config["digest"].encode(), 0o644)
    return chosen


if __name__ == "__main__":
    try:
        say(f"kubeadm upgrade: {upgrade(Run(Path('/'), {'machine': {}, 'facts': {}}, {}))}")
    except (Failure, Unreachable, Refused, OSError, ValueError) as error:
        sys.exit(f"kubeadm upgrade: {error}")
