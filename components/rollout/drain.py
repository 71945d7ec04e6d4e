"""Cordon a node and evict its pods before its machine is deleted, as `kubectl drain` does.

The API answers 429 to an eviction that a PodDisruptionBudget forbids, and is asked again. Pods of DaemonSets, static
pods and completed pods stay: they are deleted with the machine. So do all pods of a node whose kubelet is away for
minutes: without a kubelet no evicted pod ends, and no budget counts its pods as healthy.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from components.rollout import joined_nodes
from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused, Unreachable, Unresolved

POLL_SECONDS = 2.0
"""Seconds between two looks at the remaining pods."""
CORDON_SECONDS = 180.0
"""Time for which a cordon is repeated while the API does not answer or fails; a control plane restarts within it."""
DEAD_SECONDS = 300.0
"""Age of a Node's status Unknown after which nobody waits for its pods: then Kubernetes evicts them itself (default
tolerationSeconds of node.kubernetes.io/unreachable, plugin DefaultTolerationSeconds).
"""
WATCHED_SECONDS = 60.0
"""Time for which the status must stay Unknown while this drain watches, because clocks of machines may differ."""
MARGIN_SECONDS = 10.0
"""Time beyond WATCHED_SECONDS that a shorter drain gets for a node that has been Unknown for DEAD_SECONDS."""
DONE = ("Succeeded", "Failed")
"""Phases of completed pods."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of static pods."""


NO_NODE = "the cluster has no such node"


class Undrained(Exception):
    """Pods remain when the time is over; the message names each with the reason."""


async def drain(api: KubernetesApi, node: str, seconds: float, *, patient: bool = False, uid: str = "") -> str:
    """Cordon a node and evict its pods within so many seconds. Return what was done.

    patient: repeat the cordon for CORDON_SECONDS. uid: of the Node, which the API compares; empty: any.
    After the cordon, an API that fails is asked again. Raises Undrained if pods remain or the API does not list them,
    Unreachable or Refused if the node cannot be cordoned.
    """
    body = {"spec": {"unschedulable": True}, **({"metadata": {"uid": uid}} if uid else {})}
    path = f"/api/v1/nodes/{node}"
    if await _repeated(lambda: api.call("PATCH", path, body, PATCH), _patience(seconds, patient=patient)) is None:
        return NO_NODE
    begin, evicted, unknown = time.monotonic(), set[str](), _Unknown(api, node)
    while True:
        try:
            left = await _evicted(api, node, evicted)
            if left and await unknown.long():
                return f"its kubelet is away, so its pods are deleted with the machine: {left}"
        except (Unreachable, Refused) as error:
            left = f"the API does not list them ({error})"
        if not left:
            return f"{len(evicted)} pods were evicted"
        end = max(begin + seconds, unknown.watched)
        if time.monotonic() >= end:
            raise Undrained(f"pods remain on node {node} after {end - begin:.0f} s: {left}")
        await asyncio.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))


async def drain_or_stop(
    api: KubernetesApi, node: str, seconds: float, *, patient: bool = False, instance: str = ""
) -> str:
    """As `drain`, but raise RuntimeError in place of Refused and Undrained: what was not changed, and what to do.

    instance: id of the machine's instance in a cluster that somebody else made. Then a Node of another instance is left
    as it is, and the instance's own Node is deleted after the drain, because no agent of Mullion does: a successor of
    the same name could not change its providerID, and its kubelet, which still runs, creates no other.
    """
    try:
        return await (
            _drain_own(api, node, seconds, instance, patient=patient)
            if instance
            else drain(api, node, seconds, patient=patient)
        )
    except Refused as error:
        raise RuntimeError(
            f"the Kubernetes API refuses to cordon {node}{' or to delete its Node' if instance else ''} ({error}). "
            f"{node} and the machines after it were not replaced; run this again when the API answers"
        ) from error
    except Undrained as error:
        raise RuntimeError(
            f"{error}. {node} was cordoned and not deleted; the machines after it were not changed. Make eviction "
            "possible (see the PodDisruptionBudgets), or allow more time (rollout.drain), then run this again"
        ) from error


def not_drained(cluster: str, silence: str) -> str:
    """Return the warning that nodes are not drained. silence: why the API does not answer."""
    return (
        f"cluster {cluster}: nodes are not drained and gates use status records only, because the "
        f"Kubernetes API does not answer here ({silence})"
    )


def undrainable(name: str, pool: str, pools: Container[str], error: Unreachable) -> str:
    """Return why a worker that cannot be drained stays, and what to do. pools: names of the planned pools."""
    path = f"pools.{pool}.rollout.require_drain: false"
    way = f"set {path}" if pool in pools else f"put pool {pool} back with count: 0 and {path}"
    return (
        f"{name} cannot be drained, because the Kubernetes API does not answer here ({error}). {name} and the "
        "machines after it were not changed. Run this from a network that reaches the API (api.access), or with "
        f"access: session, or, to delete workers with their pods running, {way}"
    )


async def _drain_own(api: KubernetesApi, name: str, seconds: float, instance: str, *, patient: bool) -> str:
    """Drain and delete the Node if it is that of the instance. Raises as `drain`."""
    path, patience = joined_nodes.path(name), _patience(seconds, patient=patient)
    node = await _repeated(lambda: api.call("GET", path), patience)
    if node is None:
        return NO_NODE
    if joined_nodes.instance_of(node) != instance:
        return (
            f"the Node of this name is no machine of this stack ({joined_nodes.provider_id(node)}); it was not changed"
        )
    done = await drain(api, name, seconds, patient=patient, uid=node["metadata"]["uid"])
    await joined_nodes.delete(api, node)
    return done


def _patience(seconds: float, *, patient: bool) -> float:
    return min(seconds, CORDON_SECONDS) if patient else 0.0


async def _repeated(call: Callable[[], Awaitable[Any]], seconds: float) -> Any:
    """Return the answer of a call about a Node, None if it does not exist; repeat for so many seconds what may pass."""
    end = time.monotonic() + seconds
    while True:
        try:
            return await call()
        except Refused as error:
            if error.status == 404:
                return None
            if (error.status < 500 and error.status != 429) or time.monotonic() >= end:
                raise
        except Unreachable as error:
            if isinstance(error, Unresolved) or time.monotonic() >= end:  # the name of a private API
                raise
        await asyncio.sleep(POLL_SECONDS)


class _Unknown:
    """Whether a Node's kubelet is away: its status is Unknown for DEAD_SECONDS, the last WATCHED_SECONDS seen here."""

    def __init__(self, api: KubernetesApi, node: str) -> None:
        self._api, self._node = api, node
        self._since: float | None = None
        self.watched = 0.0
        """Moment (monotonic) until which a drain has to watch to tell that the kubelet is away; 0 if it is not."""

    async def long(self) -> bool:
        """Read the Node and return whether its pods need not be waited for."""
        status: dict[str, Any] = (await self._api.call("GET", f"/api/v1/nodes/{self._node}")).get("status") or {}
        conditions: list[dict[str, str]] = status.get("conditions") or []
        changed = [
            each["lastTransitionTime"] for each in conditions if each["type"] == "Ready" and each["status"] == "Unknown"
        ]
        if not changed:
            self._since, self.watched = None, 0.0
            return False
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        age = datetime.now(timezone.utc) - datetime.fromisoformat(changed[0].replace("Z", "+00:00"))
        old = age.total_seconds() >= DEAD_SECONDS
        self.watched = self._since + WATCHED_SECONDS + MARGIN_SECONDS if old else 0.0
        return old and now - self._since >= WATCHED_SECONDS


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
