"""A fake Kubernetes API in memory for `mullion verify`: keeps created objects, runs pods, and lets them answer."""

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from websockets.exceptions import ConnectionClosedOK

from components.rollout.kubernetes_api import Refused

Answer = Callable[[str, str], bool]
"""Function from the pod's place and the question's words to whether the answer is ok."""


def node(
    name: str, os: str, address: str, *, ready: bool = True, build: str = "", plane: bool = False
) -> dict[str, Any]:
    """A Node object."""
    labels = {"kubernetes.io/os": os, "kubernetes.io/hostname": name}
    labels |= {"node.kubernetes.io/windows-build": build} if build else {}
    labels |= {"node-role.kubernetes.io/control-plane": ""} if plane else {}
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "nodeInfo": {"containerRuntimeVersion": "containerd://2.1.4"},
    }
    return {"metadata": {"name": name, "labels": labels}, "status": status}


MIXED = [
    node("control-plane-0", "linux", "10.20.0.4", plane=True),
    node("linux-0", "linux", "10.20.0.5"),
    node("web-0", "windows", "10.20.0.6", build="10.0.17763"),
    node("web-1", "windows", "10.20.0.7", build="10.0.17763"),
]


SYSTEM = "/api/v1/namespaces/kube-system"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DONE: dict[str, dict[str, Any]] = {
    "ReplicaSet": {"readyReplicas": 1},
    "ReplicationController": {"readyReplicas": 1},
    "StatefulSet": {"readyReplicas": 1},
    "DaemonSet": {"numberReady": 1, "desiredNumberScheduled": 1},
    "Job": {"succeeded": 1},
    "CronJob": {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    "ResourceQuota": {"used": {"count/secrets": "1"}},
}
"""End state of each kind of controller."""
HTTP = b"HTTP/1.0 200 OK\r\n\r\nhello"


class FakeConnection:
    """A WebSocket that the other side closes after these messages."""

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = messages
        self.sent: list[bytes] = []

    def __enter__(self) -> "FakeConnection":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, message: bytes) -> None:
        self.sent.append(message)

    def recv(self, timeout: float) -> bytes:
        if not self._messages:
            raise ConnectionClosedOK(None, None)
        return self._messages.pop(0)


class FakeApi:
    """Stands in for KubernetesApi. Refuses the calls that a real API server refuses."""

    def __init__(self, nodes: list[dict[str, Any]], answer: Answer) -> None:
        self.nodes, self.answer = nodes, answer
        self.objects: dict[str, dict[str, Any]] = {}
        self.made: list[dict[str, Any]] = []
        self.system_phase, self.system_node = "Running", ""
        self.never_ready: set[str] = set()
        self.lacks: set[str] = set()
        """Kinds without an end state; and summary, exec, port-forward, quota, restarts, preStop, metrics, node metrics
        (only the first node's), metrics answers, and probes (http probe)."""

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Answer one request to the API."""
        bare, _, query = path.partition("?")
        if method == "POST":
            return self._make(bare, body)
        if method == "DELETE":
            return self._remove(bare)
        if method == "PATCH":
            assert kind == "application/merge-patch+json"
            self.objects[bare.removesuffix("/status")]["status"] = body["status"]
            return {}
        app = query.partition("%3D")[2]
        fixed = {
            "/api/v1/nodes": {"items": self.nodes},
            "/api/v1/pods": {"items": [self._system_pod()]},
            f"{SYSTEM}/services/kube-dns": {"spec": {"clusterIP": "10.96.0.10"}},
            f"{SYSTEM}/pods": {"items": [self._system_pod()]},
        }
        if bare in fixed:
            return fixed[bare]
        if bare.startswith("/apis/metrics.k8s.io/"):
            if "metrics" in self.lacks:
                raise Refused(404, "the server could not find the requested resource")
            if bare.endswith("/nodes"):
                measured = self.nodes[:1] if "node metrics" in self.lacks else self.nodes
                return {"items": [{"metadata": {"name": each["metadata"]["name"]}} for each in measured]}
            if "metrics answers" in self.lacks:
                raise Refused(503, "the server is currently unable to handle the request")
            return {"items": [{}]}
        if bare.endswith("/proxy/stats/summary"):
            figures = {"memory": {"workingSetBytes": 1 << 28}, "cpu": {"usageCoreNanoSeconds": 7}}
            return {"node": {} if "summary" in self.lacks else figures, "pods": []}
        if bare.endswith("/pods"):
            return {"items": [each for each in self._pods(bare) if each["metadata"]["labels"]["app"] == app]}
        if bare not in self.objects:
            raise Refused(404, f"{bare} not found")
        return self._with_status(self.objects[bare])

    def text(self, path: str) -> str:
        """Return a pod's log: its answers."""
        bare, _, query = path.partition("?container=")
        name = bare.split("/")[-2]
        (pod,) = (each for each in self.made if each["metadata"]["name"] == name)
        containers = [each["name"] for each in pod["spec"]["containers"]]
        if query not in containers and (query or len(containers) > 1):
            raise Refused(400, f"a container name must be specified for pod {name}, choose one of: {containers}")
        if name.startswith("dying-"):
            return "" if "preStop" in self.lacks else "stopped\n"
        variable = pod["spec"]["containers"][0]["env"][0]
        lines: list[str] = []
        for question in variable["value"].split(";"):
            number, _, words = question.partition(" ")
            lines.append(f"{number} {'ok' if self.answer(self.asks(pod), words) else 'no'} said so")
        return "\n".join([*lines, "done"])

    def websocket(self, path: str, protocol: str) -> "FakeConnection":
        """Return a WebSocket of exec or port-forward, with all messages that the API sends before it closes it."""
        assert protocol == "v4.channel.k8s.io"
        if "/exec?" in path:
            messages = [
                b"\x01" + (b"no such file" if "exec" in self.lacks else b"hello\n"),
                b'\x03{"status":"Success"}',
            ]
        else:
            port = struct.pack("<H", int(path.rpartition("=")[2]))
            page = [] if "port-forward" in self.lacks else [b"\x00" + HTTP + b"x" * 200]
            messages = [b"\x00" + port, b"\x01" + port, *page]
        return FakeConnection(messages)

    @staticmethod
    def asks(pod: dict[str, Any]) -> str:
        """Return a pod's place: the node's name, after `host ` for a pod on the host network."""
        on = pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        return f"host {on}" if pod["spec"].get("hostNetwork") else on

    def _make(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        name = body["metadata"]["name"]
        if not NAME.fullmatch(name):
            raise Refused(422, f"Invalid value: {name!r}")
        namespace = "/".join(path.split("/")[-3:-1])
        if path != "/api/v1/namespaces" and f"/api/v1/{namespace}" not in self.objects:
            raise Refused(404, f"{namespace!r} not found")
        if body["apiVersion"] in self.lacks:
            raise Refused(404, "the server could not find the requested resource")
        if f"{path}/{name}" in self.objects:
            raise Refused(409, f"{name!r} already exists")
        if body["kind"] == "Pod" and body["spec"].get("securityContext") and not body["spec"].get("hostNetwork"):
            raise Refused(422, "hostNetwork must be true if pod contains any hostProcess containers")
        if "template" in body.get("spec", {}) and "selector" in body["spec"]:
            self._select(body["spec"])
        quotas = [each for each in self.objects.values() if each["kind"] == "ResourceQuota"]
        if body["kind"] == "Secret" and quotas and "quota" not in self.lacks:
            raise Refused(403, f"secrets {name!r} is forbidden: exceeded quota: one")
        self.made.append(body)
        made = {**body, "spec": dict(body.get("spec") or {})}
        if made["spec"].get("type") == "NodePort":
            ports = [{**each, "nodePort": 30000 + len(self.made)} for each in body["spec"]["ports"]]
            made["spec"] |= {"clusterIP": f"10.96.0.{len(self.made) + 10}", "ports": ports}
        made["metadata"] = {**body["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}
        self.objects[f"{path}/{name}"] = made
        return {key: value for key, value in made.items() if key not in ("kind", "apiVersion")}

    @staticmethod
    def _select(spec: dict[str, Any]) -> None:
        """Refuse a selector that does not match the labels of its template."""
        selector = spec["selector"].get("matchLabels", spec["selector"])
        if not selector.items() <= spec["template"]["metadata"]["labels"].items():
            raise Refused(422, "`selector` does not match template `labels`")

    def _remove(self, path: str) -> dict[str, Any]:
        if path not in self.objects:
            raise Refused(404, f"{path} not found")
        inside = path.removeprefix("/api/v1")
        for each in [one for one in self.objects if one == path or f"{inside}/" in one]:
            del self.objects[each]
        return {}

    def _pods(self, path: str) -> Iterator[dict[str, Any]]:
        """Return the pods with their status: created ones, and those of Deployments, one on each node."""
        for name, workload in self.objects.items():
            if name.startswith(f"{path}/"):
                yield self._run(workload, workload["spec"]["nodeSelector"]["kubernetes.io/hostname"])
            if workload["kind"] == "Deployment":
                template = workload["spec"]["template"]
                term = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                (names,) = term["nodeSelectorTerms"][0]["matchExpressions"]
                for on in names["values"][: workload["spec"]["replicas"]]:
                    labels = {"name": f"web-{on}", "labels": template["metadata"]["labels"]}
                    yield self._run({"metadata": labels, "spec": template["spec"]}, on)

    def _run(self, pod: dict[str, Any], on: str) -> dict[str, Any]:
        """Return the pod with its status: web servers are Ready, pods with questions have Succeeded."""
        asking = pod["metadata"]["labels"]["app"] == "ask"
        ready = not asking and pod["metadata"]["name"] not in self.never_ready
        number = 1 + [each["metadata"]["name"] for each in self.nodes].index(on)
        status: dict[str, Any] = {"phase": "Succeeded" if asking else "Running" if ready else "Pending"}
        status |= {"podIP": f"10.244.{number}.2", "conditions": [{"type": "Ready", "status": str(ready)}]}
        if not ready and not asking:
            status["containerStatuses"] = [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
        return {**pod, "spec": {**pod["spec"], "nodeName": on}, "status": status}

    def _with_status(self, made: dict[str, Any]) -> dict[str, Any]:
        if "-probe-" in made["metadata"]["name"]:
            what = made["metadata"]["name"].partition("-probe-")[0]
            status = str(f"{what} probe" not in self.lacks)
            return {**made, "status": {"conditions": [{"type": "Ready", "status": status}]}}
        if made["metadata"]["name"].startswith("dying-"):
            return {**made, "status": {"containerStatuses": [{"restartCount": int("restarts" not in self.lacks)}]}}
        done = {} if made["kind"] in self.lacks else DONE.get(made["kind"], {})
        return {**made, "status": {**made.get("status", {}), **done}}

    def _system_pod(self) -> dict[str, Any]:
        status = {
            "phase": self.system_phase,
            "conditions": [{"type": "Ready", "status": "True"}],
            "podIP": "10.244.1.9",
        }
        return {
            "metadata": {"name": "coredns-1", "namespace": "kube-system"},
            "spec": {"nodeName": self.system_node},
            "status": status,
        }
