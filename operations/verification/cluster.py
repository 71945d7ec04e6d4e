"""A cluster as its API tells: the calls that `mullion verify` makes, and what it reads of nodes and pods."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from components.node.role import CONTROL_PLANE_LABEL
from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable
from operations.verification import streams
from operations.verification.questions import Node

BUILD_LABEL = "node.kubernetes.io/windows-build"
NAMESPACES = "/api/v1/namespaces"
SYSTEM = f"{NAMESPACES}/kube-system"
POLL_SECONDS = 1.0
"""Seconds between two looks."""


class Cluster:
    """One cluster, and the namespace of one run in it."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self._api, self.namespace = api, namespace
        self._here = f"{NAMESPACES}/{namespace}"

    def nodes(self) -> list[Node]:
        """Every node, by name."""
        found = self._api.ask("GET", "/api/v1/nodes")["items"]
        return sorted(map(_node, found), key=lambda each: each.name)

    def system_pods(self) -> list[tuple[str, str, str]]:
        """Namespace and name, node, and phase of the pods of the cluster's own namespaces."""
        found = self._api.ask("GET", "/api/v1/pods")["items"]
        mine = [each for each in found if each["metadata"]["namespace"].startswith("kube-")]
        return [
            (
                f"{each['metadata']['namespace']}/{each['metadata']['name']}",
                each["spec"].get("nodeName", ""),
                _phase(each),
            )
            for each in mine
        ]

    def make(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Make an object: the namespace, or what stands in it. It is given back as it was made."""
        made = self._api.ask("POST", self._folder(manifest), manifest)
        return {**made, "apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}

    def place(self, made: dict[str, Any]) -> str:
        """Path of an object that was made."""
        return f"{self._folder(made)}/{made['metadata']['name']}"

    def _folder(self, manifest: dict[str, Any]) -> str:
        kind, version = manifest["kind"], manifest["apiVersion"]
        if kind == "Namespace":
            return NAMESPACES
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{self.namespace}/{kind.lower()}s"

    def within(self, place: str) -> str:
        """Path of something in the run's namespace."""
        return f"{self._here}/{place}"

    def get(self, path: str) -> Any:
        """What is at a path."""
        return self._api.ask("GET", path)

    def resolvers(self) -> tuple[str, ...]:
        """Addresses of the cluster's name servers: of their Service, and of its pods."""
        try:
            service = self.get(f"{SYSTEM}/services/kube-dns")["spec"]["clusterIP"]
            pods = self.get(f"{SYSTEM}/pods?labelSelector=k8s-app%3Dkube-dns")["items"]
        except Refused:
            return ()
        return (service, *(each["status"]["podIP"] for each in pods if is_ready(each)))

    def execute(self, pod: str, command: list[str]) -> str:
        """What a command in a pod of the run writes."""
        return streams.execute(self._api, f"{self._here}/pods/{pod}", command)

    def forwarded(self, pod: str, port: int, sent: bytes) -> str:
        """What a port of a pod of the run answers."""
        return streams.forwarded(self._api, f"{self._here}/pods/{pod}", port, sent)

    def written(self, pod: str, container: str) -> str:
        """What a container wrote so far; nothing where it never ran."""
        try:
            return self.log(pod, container)
        except (Refused, Unreachable):
            return ""

    def service(self, name: str) -> dict[str, Any]:
        """A Service of the run."""
        return self._api.ask("GET", f"{self._here}/services/{name}")

    def pods(self, app: str) -> list[dict[str, Any]]:
        """Pods of the run with a label."""
        return self._api.ask("GET", f"{self._here}/pods?labelSelector=app%3D{app}")["items"]

    def log(self, pod: str, container: str) -> str:
        """What a container of a pod wrote."""
        return self._api.text(f"{self._here}/pods/{pod}/log?container={container}")

    def until(self, there: Callable[[], bool], seconds: float) -> bool:
        """Whether it came to be so in time. An API that is silent for a moment is asked again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if there():
                    return True
            except Unreachable:
                pass
            time.sleep(POLL_SECONDS)
        return False

    def remove(self, seconds: float) -> bool:
        """Take the namespace away with all that is in it; whether it is gone in time."""
        try:
            self._api.ask("DELETE", self._here)
        except Refused as refused:
            return refused.status == 404
        return self.until(self._gone, seconds)

    def _gone(self) -> bool:
        try:
            self._api.ask("GET", self._here)
        except Refused as refused:
            return refused.status == 404
        return False


def _node(item: dict[str, Any]) -> Node:
    labels, status = item["metadata"].get("labels") or {}, item.get("status") or {}
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or []}
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or [])
    return Node(
        item["metadata"]["name"],
        labels.get("kubernetes.io/os", ""),
        addresses.get("InternalIP", ""),
        ready,
        CONTROL_PLANE_LABEL in labels,
        labels.get(BUILD_LABEL, ""),
        (status.get("nodeInfo") or {}).get("containerRuntimeVersion", ""),
    )


def _phase(pod: dict[str, Any]) -> str:
    """Its phase; Running only where every container is ready."""
    status = pod.get("status") or {}
    containers: Iterable[dict[str, Any]] = status.get("containerStatuses") or []
    phase = status.get("phase", "Unknown")
    return "not ready" if phase == "Running" and not is_ready(pod) and list(containers) else phase


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether all of its containers are ready."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
