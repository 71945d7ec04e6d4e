"""Drain a node before its machine is deleted: cordon it, then evict its pods, as `kubectl drain` does.

Evictions respect PodDisruptionBudgets: the API answers 429 while one is exhausted, and drain retries. Pods of
DaemonSets, static pods and completed pods are not evicted.
"""

import asyncio
import time
from typing import Any
from urllib.parse import quote

from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused, Unreachable

POLL_SECONDS = 2.0
"""Interval between evictions of the remaining pods."""

DONE = ("Succeeded", "Failed")
"""Phases of completed pods."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod's mirror pod."""


class Undrained(Exception):
    """Pods remain after the time limit; the message names each with the reason."""


async def drain(api: KubernetesApi, node: str, seconds: float) -> str:
    """Cordon a node and evict its pods within so many seconds; return a sentence on the result.

    Raises Undrained if pods remain, or the API cannot list them; Unreachable or Refused if the node cannot be
    cordoned. After that, failed calls are retried.
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
    """Evict the pods whose uid is not in `evicted`, and add these; return the remaining pods with reasons, or ""."""
    pods, reasons = await _evictable(api, node), dict[str, str]()
    version = await _eviction_version(api) if pods else ""
    for pod in pods:
        if pod["metadata"]["uid"] not in evicted and (reason := await _evict(api, version, pod)):
            reasons[_name(pod)] = reason
        else:
            evicted.add(pod["metadata"]["uid"])
    return "; ".join(f"{_name(pod)} ({reasons.get(_name(pod), 'still terminating')})" for pod in pods)


async def _eviction_version(api: KubernetesApi) -> str:
    """Return the API version of Eviction: policy/v1 since Kubernetes 1.22, policy/v1beta1 before."""
    try:
        await api.call("GET", "/apis/policy/v1")
    except Refused as error:
        if error.status != 404:
            raise
        return "policy/v1beta1"
    return "policy/v1"


async def _evictable(api: KubernetesApi, node: str) -> list[dict[str, Any]]:
    """Return the pods on a node that must be evicted, sorted by name."""
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
    """Evict a pod; return why the API refuses, or "" if it evicts the pod or the pod is gone."""
    metadata = pod["metadata"]
    names = {"name": metadata["name"], "namespace": metadata["namespace"]}
    path = f"/api/v1/namespaces/{names['namespace']}/pods/{names['name']}/eviction"
    # by uid: a StatefulSet may have created a new pod of the same name
    options = {"preconditions": {"uid": metadata["uid"]}}
    body = {"apiVersion": version, "kind": "Eviction", "metadata": names, "deleteOptions": options}
    try:
        await api.call("POST", path, body)
    except Refused as error:
        return "" if error.status in (404, 409) else str(error)
    return ""


def _name(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
