"""The API calls of `mullion verify`, and the fields that it reads of nodes and pods."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from components.node.role import CONTROL_PLANE_LABEL
from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable, objects
from operations.console.heartbeat import Heartbeat
from operations.verification import streams
from operations.verification.questions import Node

BUILD_LABEL = "node.kubernetes.io/windows-build"
NAMESPACES = "/api/v1/namespaces"
SYSTEM = f"{NAMESPACES}/kube-system"
POLL_SECONDS = 1.0
"""Seconds between two checks."""


class Cluster:
    """A cluster's API, and the namespace of one run in it."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self._api, self.namespace = api, namespace
        self._path = f"{NAMESPACES}/{namespace}"

    def nodes(self) -> list[Node]:
        """Return every node, sorted by name."""
        items = objects(self._api, "/api/v1/nodes")
        return sorted(map(_node, items), key=lambda node: node.name)

    def system_pods(self) -> list[tuple[str, str, str]]:
        """Return namespace/name, node and phase of each pod in the namespaces kube-*."""
        pods = objects(self._api, "/api/v1/pods")
        return [
            (
                f"{pod['metadata']['namespace']}/{pod['metadata']['name']}",
                pod["spec"].get("nodeName", ""),
                _phase(pod),
            )
            for pod in pods
            if pod["metadata"]["namespace"].startswith("kube-")
        ]

    def create(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Create the namespace or an object in it, and return the object as created."""
        created = self._api.ask("POST", self._collection(manifest), manifest)
        return {**created, "apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}

    def try_out(self, manifest: dict[str, Any]) -> None:
        """Create an object without keeping it. Raises Refused if the API server would not create it."""
        self._api.ask("POST", f"{self._collection(manifest)}?dryRun=All", manifest)

    def write_status(self, path: str, status: dict[str, Any]) -> None:
        """Merge fields into the status of a created object."""
        self._api.ask("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")

    def path_of(self, created: dict[str, Any]) -> str:
        """Return the path of a created object."""
        return f"{self._collection(created)}/{created['metadata']['name']}"

    def _collection(self, manifest: dict[str, Any]) -> str:
        kind, version = manifest["kind"], manifest["apiVersion"]
        if kind == "Namespace":
            return NAMESPACES
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{self.namespace}/{kind.lower()}s"

    def within(self, path: str) -> str:
        """Return the full path of a path in the run's namespace."""
        return f"{self._path}/{path}"

    def get(self, path: str) -> Any:
        """Return the document at a path."""
        return self._api.ask("GET", path)

    def resolvers(self) -> tuple[str, ...]:
        """Return the addresses of the cluster's DNS: the cluster IP of its Service, and those of its Ready pods."""
        try:
            service = self.get(f"{SYSTEM}/services/kube-dns")["spec"]["clusterIP"]
            pods = self.get(f"{SYSTEM}/pods?labelSelector=k8s-app%3Dkube-dns")["items"]
        except Refused:
            return ()
        return (service, *(pod["status"]["podIP"] for pod in pods if is_ready(pod)))

    def execute(self, pod: str, command: list[str]) -> str:
        """Return the standard output of a command in a pod of the run."""
        return streams.execute(self._api, f"{self._path}/pods/{pod}", command)

    def port_forward(self, pod: str, port: int, sent: bytes) -> str:
        """Send bytes to a port of a pod of the run, and return its answer."""
        return streams.port_forward(self._api, f"{self._path}/pods/{pod}", port, sent)

    def log_so_far(self, pod: str, container: str) -> str:
        """Return a container's log; empty if the container never ran."""
        try:
            return self.log(pod, container)
        except (Refused, Unreachable):
            return ""

    def service(self, name: str) -> dict[str, Any]:
        """Return a Service of the run."""
        return self._api.ask("GET", f"{self._path}/services/{name}")

    def pods(self, app: str) -> list[dict[str, Any]]:
        """Return the pods of the run with this label `app`."""
        return objects(self._api, f"{self._path}/pods?labelSelector=app%3D{app}")

    def log(self, pod: str, container: str) -> str:
        """Return a container's log."""
        return self._api.text(f"{self._path}/pods/{pod}/log?container={container}")

    def until(self, reached: Callable[[], bool], seconds: float, what: str | Callable[[], str]) -> bool:
        """Return True once the condition is reached, False after `seconds`. Prints what it waits for.

        An API that does not answer is asked again.
        """
        end, heart = time.monotonic() + seconds, Heartbeat()
        while time.monotonic() < end:
            unreachable = ""
            try:
                if reached():
                    return True
            except Unreachable as error:
                unreachable = f": {error}"
            heart.beat(f"{what if isinstance(what, str) else what()}{unreachable}")
            time.sleep(POLL_SECONDS)
        return False

    def delete_namespace(self, seconds: float) -> bool:
        """Delete the run's namespace with its content. Return whether it is gone in time."""
        try:
            self._api.ask("DELETE", self._path)
        except Refused as refused:
            return refused.status == 404
        return self.until(self._is_deleted, seconds, f"namespace {self.namespace} to be deleted")

    def _is_deleted(self) -> bool:
        try:
            self._api.ask("GET", self._path)
        except Refused as refused:
            return refused.status == 404
        return False


def _node(item: dict[str, Any]) -> Node:
    labels, status = item["metadata"].get("labels") or {}, item.get("status") or {}
    addresses = {address["type"]: address["address"] for address in status.get("addresses") or []}
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions") or []}
    return Node(
        item["metadata"]["name"],
        labels.get("kubernetes.io/os", ""),
        addresses.get("InternalIP", ""),
        conditions.get("Ready") == "True",
        CONTROL_PLANE_LABEL in labels,
        labels.get(BUILD_LABEL, ""),
        (status.get("nodeInfo") or {}).get("containerRuntimeVersion", ""),
    )


def _phase(pod: dict[str, Any]) -> str:
    """Return the pod's phase; "not ready" for a Running pod with a container that is not ready."""
    status = pod.get("status") or {}
    containers: Iterable[dict[str, Any]] = status.get("containerStatuses") or []
    phase = status.get("phase", "Unknown")
    return "not ready" if phase == "Running" and not is_ready(pod) and list(containers) else phase


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether the pod's condition Ready is True."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
