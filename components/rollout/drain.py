"""Cordon a node and evict its pods before its machine is deleted, as `kubectl drain` does.

The API answers 429 to an eviction that a PodDisruptionBudget forbids, and is asked again. Pods of DaemonSets, static
pods and completed pods stay: they are deleted with the machine.
"""

import asyncio
import time
from typing import Any
from urllib.parse import quote

from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused, Unreachable

POLL_SECONDS = 2.0
"""Seconds between two looks at the remaining pods."""
DONE = ("Succeeded", "Failed")
"""Phases of completed pods."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of static pods."""


class Undrained(Exception):
    """Pods remain when the time is over; the message names each with the reason."""


async def drain(api: KubernetesApi, node: str, seconds: float) -> str:
    """Cordon a node and evict its pods within so many seconds. Return what was done.

    Raises Undrained if pods remain or the API does not list them, Unreachable or Refused if the node cannot be
    cordoned. After the cordon, an API that fails is asked again.
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
            left = f"the API does not list them ({error})"
        if not left:
            return f"{len(evicted)} pods were evicted"
        if time.monotonic() >= end:
            raise Undrained(f"pods remain on node {node} after {seconds:.0f} s: {left}")
        await asyncio.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))


async def _evicted(api: KubernetesApi, node: str, evicted: set[str]) -> str:
    """Evict the pods that are not in `evicted` (uids), and add them. Return the remaining pods with their reasons."""
    pods, reasons = await _evictable(api, node), dict[str, str]()
    version = await _eviction_version(api) if pods else ""
    for pod in pods:
        if pod["metadata"]["uid"] not in evicted and (reason := await _evict(api, version, pod)):
            reasons[_name(pod)] = reason
        else:
            evicted.add(pod["metadata"]["uid"])
    return "; ".join(f"{_name(pod)} ({reasons.get(_name(pod), 'still terminating')})" for pod in pods)


async def _eviction_version(api: KubernetesApi) -> str:
    """Return the API version of Eviction: policy/v1 from Kubernetes 1.22 on, else policy/v1beta1."""
    try:
        await api.call("GET", "/apis/policy/v1")
    except Refused as error:
        if error.status != 404:
            raise
        return "policy/v1beta1"
    return "policy/v1"


async def _evictable(api: KubernetesApi, node: str) -> list[dict[str, Any]]:
    """Return the pods on a node that have to be evicted, sorted by name."""
    pods = await api.call("GET", f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={node}', safe='')}")
    return sorted((pod for pod in pods["items"] if not _stays(pod)), key=_name)


def _stays(pod: dict[str, Any]) -> bool:
    metadata = pod["metadata"]
    owners: list[dict[str, Any]] = metadata.get("ownerReferences") or []
    annotations: dict[str, str] = metadata.get("annotations") or {}
    status: dict[str, Any] = pod.get("status") or {}
    managed = any(owner["kind"] == "DaemonSet" for owner in owners)
    return managed or MIRROR in annotations or status.get("phase") in DONE


async def _evict(api: KubernetesApi, version: str, pod: dict[str, Any]) -> str:
    """Evict a pod. Return why the API refuses it; empty if it does not, or the pod is gone."""
    metadata = pod["metadata"]
    names = {"name": metadata["name"], "namespace": metadata["namespace"]}
    path = f"/api/v1/namespaces/{names['namespace']}/pods/{names['name']}/eviction"
    # do not evict the pod's successor of the same name (StatefulSet)
    options = {"preconditions": {"uid": metadata["uid"]}}
    body = {"apiVersion": version, "kind": "Eviction", "metadata": names, "deleteOptions": options}
    try:
        await api.call("POST", path, body)
    except Refused as error:
        return "" if error.status in (404, 409) else str(error)
    return ""


def _name(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
