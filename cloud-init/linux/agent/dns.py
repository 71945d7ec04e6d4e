"""CoreDNS on more than one machine: kubeadm creates both pods on the founder, when no other Node exists.

The active agent deletes one pod once another Node can take it (the pods' anti-affinity then prefers that Node), and
raises the number of replicas with the number of Nodes. It lowers none, so a person may have more.
"""

import time
from datetime import datetime
from typing import Any

from report import say

from agent.api import MERGE, Refused
from agent.seen import AWAY, Seen

DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
PODS = "/api/v1/namespaces/kube-system/pods"
SELECTED = f"{PODS}?labelSelector=k8s-app%3Dkube-dns"
LEAST, NODES_EACH = 2, 16
"""Replicas: at least two, and one for so many Nodes (cluster-proportional-autoscaler's parameters for kube-dns)."""
TOLERATED = {"CriticalAddonsOnly", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
"""Taints that CoreDNS tolerates (kubeadm, phases/addons/dns/manifests.go)."""
SETTLED = 300.0
"""Seconds since the newest pod began, before one is deleted: a Node that cannot take it costs no more restarts."""


def reconcile(seen: Seen) -> None:
    """Raise the replicas, or else move one pod if all run on one machine."""
    deployment = seen.api.find(DEPLOYMENT)
    if not deployment:
        return  # the user has another DNS
    wanted = max(LEAST, -(-len(seen.nodes()) // NODES_EACH))
    if deployment["spec"].get("replicas", 1) < wanted:
        seen.api.call("PATCH", DEPLOYMENT, {"spec": {"replicas": wanted}}, MERGE)
        say(f"CoreDNS gets {wanted} replicas")
        return
    pods = seen.api.call("GET", SELECTED)["items"]
    if len(pods) < LEAST or not all(map(settled, pods)):
        return
    used = {pod["spec"]["nodeName"] for pod in pods}
    free = sorted(name for name, node in seen.nodes().items() if name not in used and takes(seen, node))
    if len(used) == 1 and free:
        pod = pods[-1]["metadata"]
        try:
            seen.api.call("DELETE", f"{PODS}/{pod['name']}", {"preconditions": {"uid": pod["uid"]}})
        except Refused as error:
            if error.status not in (404, 409):
                raise
        say(f"{pod['name']} is deleted: all pods of CoreDNS ran on {used.pop()}, and {free[0]} can take one")


def settled(pod: dict[str, Any]) -> bool:
    """Return whether the pod is Ready, stays, and began SETTLED seconds ago."""
    conditions = pod.get("status", {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    began = datetime.strptime(pod["metadata"]["creationTimestamp"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z")
    return ready and "deletionTimestamp" not in pod["metadata"] and time.time() - began.timestamp() >= SETTLED


def takes(seen: Seen, node: dict[str, Any]) -> bool:
    """Return whether the scheduler may put a pod of CoreDNS on the Node."""
    labels, spec = node["metadata"].get("labels") or {}, node["spec"]
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    refused = {each["key"] for each in spec.get("taints") or () if each["effect"] != "PreferNoSchedule"} - TOLERATED
    linux = labels.get("kubernetes.io/os") == "linux"
    return linux and ready and not refused and not spec.get("unschedulable") and seen.silent_for(node) < AWAY
