"""Take a node out of service before its machine goes: cordon it, then evict its pods, as `kubectl drain` does.

Evictions keep to PodDisruptionBudgets: the API answers 429 while one does not allow it, and we ask again. Pods of
DaemonSets, static pods and pods that are done stay: they go with the machine.
"""

import asyncio
import time
from typing import Any
from urllib.parse import quote

from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused, Unreachable

POLL_SECONDS = 2.0
"""Seconds between looks at what is left."""
DONE = ("Succeeded", "Failed")
MIRROR = "kubernetes.io/config.mirror"


class Undrained(Exception):
    """Pods are left after the longest time; the message names each with the reason."""


async def drain(api: KubernetesApi, node: str, seconds: float) -> str:
    """Cordon a node and evict its pods, within so many seconds; say what was done.

    Undrained when pods are left, or the API does not say whether any are. Unreachable or Refused when the node cannot
    be cordoned: once it is, an API that fails is asked again.
    """
    path = f"/api/v1/nodes/{node}"
    try:
        await api.call("PATCH", path, {"spec": {"unschedulable": True}}, PATCH)
    except Refused as error:
        if error.status != 404:
            raise
        return "the cluster has no such node"
    end, evicted = time.monotonic() + seconds, set[str]()
    while True:
        try:
            left = await _evicted(api, node, evicted)
        except (Unreachable, Refused) as error:
            left = f"which ones, the API does not say ({error})"
        if not left:
            return f"{len(evicted)} pods were evicted"
        if time.monotonic() >= end:
            raise Undrained(f"pods are left on node {node} after {seconds:.0f} s: {left}")
        await asyncio.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))


async def _evicted(api: KubernetesApi, node: str, evicted: set[str]) -> str:
    """Evict what is not in `evicted` yet, by uid, and add it; say what is still there, and why."""
    pods, reasons = await _evictable(api, node), dict[str, str]()
    version = await _eviction_version(api) if pods else ""
    for pod in pods:
        if pod["metadata"]["uid"] not in evicted and (reason := await _evict(api, version, pod)):
            reasons[_name(pod)] = reason
        else:
            evicted.add(pod["metadata"]["uid"])
    return "; ".join(f"{_name(each)} ({reasons.get(_name(each), 'it does not end')})" for each in pods)


async def _eviction_version(api: KubernetesApi) -> str:
    """policy/v1 evicts from Kubernetes 1.22 on; before it, v1beta1 did."""
    try:
        await api.call("GET", "/apis/policy/v1")
    except Refused as error:
        if error.status != 404:
            raise
        return "policy/v1beta1"
    return "policy/v1"


async def _evictable(api: KubernetesApi, node: str) -> list[dict[str, Any]]:
    """The pods on a node that have to go, by name."""
    found = await api.call("GET", f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={node}', safe='')}")
    return sorted((each for each in found["items"] if not _stays(each)), key=_name)


def _stays(pod: dict[str, Any]) -> bool:
    metadata = pod["metadata"]
    owners: list[dict[str, Any]] = metadata.get("ownerReferences") or []
    annotations: dict[str, str] = metadata.get("annotations") or {}
    status: dict[str, Any] = pod.get("status") or {}
    managed = any(each["kind"] == "DaemonSet" for each in owners)
    return managed or MIRROR in annotations or status.get("phase") in DONE


async def _evict(api: KubernetesApi, version: str, pod: dict[str, Any]) -> str:
    """Why the API does not evict a pod now; empty where it does, or the pod is gone."""
    metadata = pod["metadata"]
    names = {"name": metadata["name"], "namespace": metadata["namespace"]}
    path = f"/api/v1/namespaces/{names['namespace']}/pods/{names['name']}/eviction"
    # another pod of the same name (a StatefulSet's) is not meant
    options = {"preconditions": {"uid": metadata["uid"]}}
    body = {"apiVersion": version, "kind": "Eviction", "metadata": names, "deleteOptions": options}
    try:
        await api.call("POST", path, body)
    except Refused as error:
        return "" if error.status in (404, 409) else str(error)
    return ""


def _name(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
