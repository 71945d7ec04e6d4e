"""CoreDNS on more than one machine: kubeadm creates both pods on the founder, when no other Node exists.

The active agent deletes one pod once another Node can take it (the pods' anti-affinity then prefers that Node), raises
the number of replicas with the number of Nodes, and lets a drain take one pod at a time. What a person or an autoscaler
has changed stays: another number of replicas, pods that are bound to Nodes, another PodDisruptionBudget.
"""

import time
from datetime import datetime
from typing import Any

from report import say

from agent.api import MERGE, Refused
from agent.memory import Memory, keep
from agent.seen import AWAY, Seen

DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
PODS = "/api/v1/namespaces/kube-system/pods"
SELECTED = f"{PODS}?labelSelector=k8s-app%3Dkube-dns"
BUDGETS = "/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets"
LEAST, NODES_EACH = 2, 16
"""Minimum of replicas (kubeadm's number), and Nodes for each replica (cluster-proportional-autoscaler's parameters for
kube-dns)."""
SELECTOR = {"kubernetes.io/os": "linux"}
"""nodeSelector, and below the taints that CoreDNS tolerates (kubeadm, phases/addons/dns/manifests.go)."""
TOLERATED = {"CriticalAddonsOnly", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
SETTLED = 300.0
"""Minimum age of the newest pod, seconds, before one is deleted: limits restarts if no other Node can take it."""
AGAIN = 86400.0
"""Seconds until another pod is deleted, if the last one's successor runs on the same Node again."""
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "mullion-coredns", "namespace": "kube-system"},
    "spec": {
        "maxUnavailable": 1,
        "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",  # API servers before 1.27 drop it
    },
}


def reconcile(seen: Seen) -> None:
    """Keep the disruption budget, then raise the replicas, or else move one pod if all run on one machine."""
    deployment = seen.api.find(DEPLOYMENT)
    budget(seen, deployment)
    if not deployment:
        return  # the user has another DNS
    replicas, wanted = deployment["spec"].get("replicas", 1), max(LEAST, -(-len(seen.nodes()) // NODES_EACH))
    if not replicas:
        return  # somebody has switched it off
    memory = Memory(seen.api)
    if replicas < wanted and replicas == int(memory.values.get("dns.replicas") or LEAST):
        seen.api.call("PATCH", DEPLOYMENT, {"spec": {"replicas": wanted}}, MERGE)
        keep(seen.api, **{"dns.replicas": f"{wanted}"})
        say(f"CoreDNS gets {wanted} replicas")
        return
    pods = seen.api.call("GET", SELECTED)["items"]
    if len(pods) >= LEAST and all(map(settled, pods)) and movable(deployment["spec"]["template"]["spec"]):
        spread(seen, pods, memory)


def spread(seen: Seen, pods: list[dict[str, Any]], memory: Memory) -> None:
    """Delete one pod if all run on one machine, and another can take it."""
    used = {pod["spec"]["nodeName"] for pod in pods}
    moved = float(memory.values.get("dns.moved") or 0)
    if len(used) > 1:
        if moved:
            memory.write(**{"dns.moved": ""})
        return
    free = sorted(name for name, node in seen.nodes().items() if name not in used and takes(seen, node))
    if not free or abs(time.time() - moved) < AGAIN or not memory.write(**{"dns.moved": f"{time.time():.0f}"}):
        return
    pod = pods[-1]["metadata"]
    delete(seen, f"{PODS}/{pod['name']}", pod["uid"])
    say(f"{pod['name']} is deleted: all pods of CoreDNS ran on {used.pop()}, and {free[0]} can take one")


def movable(template: dict[str, Any]) -> bool:
    """Return whether the pods select only what kubeadm selects (Linux), so nobody has bound them to Nodes."""
    bound = (template.get("affinity") or {}).get("nodeAffinity")
    return template.get("nodeSelector") == SELECTOR and not bound


def budget(seen: Seen, deployment: dict[str, Any] | None) -> None:
    """Let a drain take one pod at a time, unless another budget selects the pods: the API evicts no pod with two."""
    try:
        found = seen.api.call("GET", BUDGETS)["items"]
    except Refused as error:
        if error.status == 404:
            return  # Kubernetes before 1.21 has no policy/v1
        raise
    name = BUDGET["metadata"]["name"]
    ours = next((each["metadata"] for each in found if each["metadata"]["name"] == name), None)
    labels = deployment["spec"]["template"]["metadata"]["labels"] if deployment else {}
    others = [each["metadata"]["name"] for each in found if each["metadata"]["name"] != name and selects(each, labels)]
    wanted = bool(deployment) and not others
    if wanted and not ours:
        seen.api.call("POST", BUDGETS, BUDGET)
    elif ours and not wanted:
        delete(seen, f"{BUDGETS}/{name}", ours["uid"])
        say(f"the disruption budget {name} is deleted: {', '.join(others) or 'no CoreDNS of kubeadm'}")


def selects(other: dict[str, Any], labels: dict[str, str]) -> bool:
    """Return whether a PodDisruptionBudget selects pods with these labels; without a selector it selects none."""
    selector = other["spec"].get("selector")
    if selector is None:
        return False
    tests = {
        "In": lambda value, values: value in values,
        "NotIn": lambda value, values: value not in values,
        "Exists": lambda value, _: value is not None,
        "DoesNotExist": lambda value, _: value is None,
    }
    rows = selector.get("matchExpressions") or []
    exact = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return exact and all(tests[row["operator"]](labels.get(row["key"]), row.get("values") or ()) for row in rows)


def delete(seen: Seen, path: str, uid: str) -> None:
    """Delete exactly this object, if it is still there."""
    try:
        seen.api.call("DELETE", path, {"preconditions": {"uid": uid}})
    except Refused as error:
        if error.status not in (404, 409):
            raise


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
