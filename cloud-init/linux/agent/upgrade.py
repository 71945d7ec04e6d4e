"""A step of the control plane's plan: its static pods are made from the planned ClusterConfiguration, by kubeadm.

Runs only while this machine has its turn, before the plan starts the newer kubelet. The first machine whose turn it is
uploads the configuration and applies it; the others take it from the cluster. kubeadm itself refuses more than one
minor version, and a version back. Cut at any point it begins again: kubeadm's commands may be repeated.
"""

import sys
from pathlib import Path

from failure import Failure
from report import say
from run import Run
from writing import write_whole

from agent import configuration
from agent.api import Api, Refused, Unreachable, from_kubeconfig
from agent.memory import Memory, keep

API_SERVERS = "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver"
SECONDS = 1700
"""For all commands; the step has 1800."""


def commands(planned: str, here: str, cluster: str) -> str | None:
    """Which of the plan's lists of commands to run; None: the static pods are as planned.

    planned, here, cluster: digests of the configuration that the plan has, this machine has, the cluster has.
    """
    if planned == here:
        return None
    return "node" if planned == cluster else "apply"


def stamp(run: Run) -> str:
    """Digest of what this machine has; empty before the agent saw it first."""
    place = run.path(configuration.STAMP)
    return place.read_text().strip() if place.exists() else ""


def settle(run: Run, told: configuration.Configuration, api: Api) -> bool:
    """Note what a machine that founded or joined was made from; False while that is not known.

    The founder was made from its own plan; a member takes what the cluster has.
    """
    if stamp(run):
        return True
    memory = Memory(api)
    founder = run.path(told["founder"]).exists()
    if founder and not memory.values.get("applied") and not memory.write(applied=told["digest"]):
        return False
    if applied := memory.values.get("applied"):
        write_whole(run.path(configuration.STAMP), applied.encode(), 0o644)
    return bool(applied)


def level(api: Api) -> bool:
    """Whether all API servers are of one image: before that kubeadm leaves its add-ons alone, and so do we."""
    pods = api.call("GET", API_SERVERS)["items"]
    return len({each["image"] for pod in pods for each in pod["spec"]["containers"]}) == 1


def upgrade(run: Run) -> str:
    """Make it so; says what was run."""
    told = configuration.read(run.root)
    run.try_for(SECONDS)
    memory = Memory(from_kubeconfig(run.path(told["kubeconfig"])))
    chosen = commands(told["digest"], stamp(run), memory.values.get("applied", ""))
    if chosen is None:
        return "nothing"
    for argv in told["upgrade"][chosen]:
        run.command(*argv)
    # kubeadm started the API server anew, and renewed the administrator's certificate
    api = from_kubeconfig(run.path(told["kubeconfig"]))
    if level(api):
        for argv in told["upgrade"]["last"]:
            run.command(*argv)
    if chosen == "apply" and not keep(api, applied=told["digest"]):
        raise Failure("command-failed", "others wrote the agents' memory at the same moments")
    write_whole(run.path(configuration.STAMP), told["digest"].encode(), 0o644)
    return chosen


if __name__ == "__main__":
    try:
        say(f"kubeadm upgrade: {upgrade(Run(Path('/'), {'machine': {}, 'facts': {}}, {}))}")
    except (Failure, Unreachable, Refused, OSError, ValueError) as error:
        sys.exit(f"kubeadm upgrade: {error}")
