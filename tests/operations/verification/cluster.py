"""A cluster's API in memory, for `mullion verify`: it keeps what is made, runs pods, and lets them answer."""

import re
from collections.abc import Callable
from typing import Any

from components.kubernetes_api import Refused

Answer = Callable[[str, str], bool]
"""Whether a question of a pod (its name, the words) is answered with ok."""


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


class FakeApi:
    """What KubernetesApi is to `verify`. Refuses what a real API server refuses of these calls."""

    def __init__(self, nodes: list[dict[str, Any]], answer: Answer) -> None:
        self.nodes, self.answer = nodes, answer
        self.objects: dict[str, dict[str, Any]] = {}
        self.made: list[dict[str, Any]] = []
        self.system_phase = "Running"
        self.never_ready: set[str] = set()

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """One call."""
        bare, _, query = path.partition("?")
        if method == "POST":
            return self._make(bare, body)
        if method == "DELETE":
            return self._remove(bare)
        if bare == "/api/v1/nodes":
            return {"items": self.nodes}
        if bare == "/api/v1/pods":
            return {"items": [self._system_pod()]}
        if bare.endswith("/pods"):
            app = query.partition("%3D")[2]
            return {"items": [self._run(each) for each in self._in(bare) if each["metadata"]["labels"]["app"] == app]}
        if bare not in self.objects:
            raise Refused(404, f"{bare} not found")
        return self.objects[bare]

    def text(self, path: str) -> str:
        """A pod's log: its answers."""
        name = path.split("/")[-2]
        (pod,) = (each for each in self.made if each["metadata"]["name"] == name)
        (variable,) = pod["spec"]["containers"][0]["env"]
        lines: list[str] = []
        for question in variable["value"].split(";"):
            number, _, words = question.partition(" ")
            lines.append(f"{number} {'ok' if self.answer(self.asks(pod), words) else 'no'} said so")
        return "\n".join([*lines, "done"])

    @staticmethod
    def asks(pod: dict[str, Any]) -> str:
        """Where a pod asks: the node's name, with host before it where it is on the node's network."""
        on = pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        return f"host {on}" if pod["spec"].get("hostNetwork") else on

    def _make(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        name = body["metadata"]["name"]
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
            raise Refused(422, f"Invalid value: {name!r}")
        parent = path.rpartition("/")[0]
        if path != "/api/v1/namespaces" and parent not in self.objects:
            raise Refused(404, f"namespaces {parent.rpartition('/')[2]!r} not found")
        if f"{path}/{name}" in self.objects:
            raise Refused(409, f"{name!r} already exists")
        if body["kind"] == "Pod" and body["spec"].get("securityContext") and not body["spec"].get("hostNetwork"):
            raise Refused(422, "hostNetwork must be true if pod contains any hostProcess containers")
        self.made.append(body)
        made = {**body, "spec": dict(body.get("spec") or {})}
        if body["kind"] == "Service":
            ports = [{**each, "nodePort": 30000 + len(self.made)} for each in body["spec"]["ports"]]
            made["spec"] |= {"clusterIP": f"10.96.0.{len(self.made)}", "ports": ports}
        self.objects[f"{path}/{name}"] = made
        return made

    def _remove(self, path: str) -> dict[str, Any]:
        if path not in self.objects:
            raise Refused(404, f"{path} not found")
        for each in [one for one in self.objects if one == path or one.startswith(f"{path}/")]:
            del self.objects[each]
        return {}

    def _in(self, path: str) -> list[dict[str, Any]]:
        return [each for name, each in self.objects.items() if name.startswith(f"{path}/")]

    def _run(self, pod: dict[str, Any]) -> dict[str, Any]:
        """The pod as it is: servers are ready, those that ask have asked."""
        asking = pod["metadata"]["labels"]["app"] == "ask"
        on = pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]
        ready = not asking and pod["metadata"]["name"] not in self.never_ready
        number = 1 + [each["metadata"]["name"] for each in self.nodes].index(on)
        status: dict[str, Any] = {"phase": "Succeeded" if asking else "Running" if ready else "Pending"}
        status |= {"podIP": f"10.244.{number}.2", "conditions": [{"type": "Ready", "status": str(ready)}]}
        if not ready and not asking:
            status["containerStatuses"] = [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
        return {**pod, "spec": {**pod["spec"], "nodeName": on}, "status": status}

    def _system_pod(self) -> dict[str, Any]:
        status = {"phase": self.system_phase, "conditions": [{"type": "Ready", "status": "True"}]}
        return {"metadata": {"name": "coredns-1", "namespace": "kube-system"}, "spec": {}, "status": status}
