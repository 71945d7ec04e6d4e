"""`mullion revoke`: revoke the access of one worker's machine, as far as Kubernetes can.

It marks the machine in a ConfigMap; the control-plane agent then acts (cloud-init/linux/agent/revocations.py).
"""

import json
import time
from pathlib import Path
from typing import Any

from components.node import authorization
from components.plan import ClusterPlan, plan_cluster
from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable
from operations.commands import reached_api
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files, target

RECORD = "/api/v1/namespaces/kube-system/configmaps/mullion-machines"
KUBEADM = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
NODES = "/api/v1/nodes"
GONE_SECONDS, PAUSE = 60, 2.0
"""Longest wait for the agent, which looks every 10 seconds; seconds between two looks."""
ATTEMPTS = 5
"""Tries to write the record: the agents write it too, so a write may conflict."""


def revoke(name: str, node: str, kubeconfig: Path | None) -> None:
    """Mark a worker's machine as revoked, wait for the agent, and print what the machine can still do. Raises Stop."""
    pool = _pool(plan_cluster(name, stack_files.load(name).spec), node)
    with reached_api.administrator(name, kubeconfig) as text:
        _revoke(name, node, pool, text)


def _revoke(name: str, node: str, pool: str, text: str) -> None:
    api = reached_api.client(text)
    try:
        entry = _mark(api, node)
        gone, refuses = _gone(api, node), _refuses(api)
    except (Unreachable, Refused) as error:
        raise Stop(
            Exit.FAILED,
            f"the API of {name} failed: {error}; the access ends only after the agent has read the ConfigMap",
        ) from error
    ends = max((entry.get("certificates") or {}).values(), default=0.0)
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(ends)) if ends else "its certificate ends"
    print(f"{node} (machine {entry['instance']}) is revoked: it gets no certificate, and its token is deleted")
    if refuses:
        print("Within half a minute the API servers refuse every request with its certificate. Then they restart, one")
        print("after the other, to end what it still watches; a single one does not answer for some seconds")
    else:
        print(f"Until {until} its certificate can still read what a node without pods can; it can write nothing from")
        print("Kubernetes 1.30 on")
    print("Consider the secrets of its pods known to the attacker: change them")
    print(f"Replace the machine: {target.command('roll', name)} {pool} --machine {node}")
    if not gone:
        raise Stop(Exit.FAILED, f"Node {node} still exists after {GONE_SECONDS} s: does the control-plane agent run?")


def _pool(plan: ClusterPlan, node: str) -> str:
    """Return a worker's pool."""
    for group in plan.machine_groups:
        if node in [machine.name for machine in group.machines]:
            if group.is_control_plane:
                why = "has every key of the cluster, so revoking its certificate changes nothing"
                raise Stop(
                    Exit.USAGE, f"{node} {why}; replace it: {target.command('replace-control-plane', plan.name)} {node}"
                )
            return group.name
    workers = ", ".join(machine.name for machine in plan.workers)
    raise Stop(Exit.USAGE, f"stack {plan.name} has no machine {node}; its workers: {workers}")


def _refuses(api: KubernetesApi) -> bool:
    """Return whether the API servers refuse every request of revoked machines: they have the flag for it."""
    return f"name: {authorization.FLAG}\n" in api.ask("GET", KUBEADM)["data"]["ClusterConfiguration"]


def _mark(api: KubernetesApi, node: str) -> dict[str, Any]:
    """Mark the node's machine as revoked in the record; return its entry, which lists its certificates."""
    for attempt in range(1, ATTEMPTS + 1):
        record = _record(api)
        entry = json.loads(record["data"].get(node) or "{}")
        if not entry.get("instance"):
            raise Stop(Exit.USAGE, f"{node} has not joined, so there is nothing to revoke")
        if entry.get("revoked"):
            return entry
        record["data"][node] = json.dumps(entry | {"revoked": True}, sort_keys=True)
        try:
            api.ask("PUT", RECORD, record)
        except Refused as error:
            if error.status != 409 or attempt == ATTEMPTS:
                raise
        else:
            return entry
    raise AssertionError


def _record(api: KubernetesApi) -> dict[str, Any]:
    try:
        record = api.ask("GET", RECORD)
    except Refused as error:
        if error.status != 404:
            raise
        record = {}
    return {**record, "data": record.get("data") or {}}


def _gone(api: KubernetesApi, node: str) -> bool:
    """Wait until the agent has deleted the Node; return whether it has."""
    end = time.monotonic() + GONE_SECONDS
    while time.monotonic() < end:
        try:
            api.ask("GET", f"{NODES}/{node}")
        except Refused as error:
            if error.status == 404:
                return True
            raise
        time.sleep(PAUSE)
    return False
