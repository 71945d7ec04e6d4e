"""A Windows node of real programs: kubelet, flanneld, CNI plug-ins and kube-proxy on one machine, as in its plan.

Three things are not as in the plan: no service manager starts the programs, the kubelet's runtime answers on TCP
instead of a named pipe, and this runtime keeps its containers in memory only (lab/cripods).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.boot.windows.server import CRI, WMIC
from tests.lab.hns.cluster import NAME, SERVICES, Cluster
from tests.lab.hns.machine import plugin

PODS = "/api/v1/namespaces/default/pods"
NODE_PATH = f"/api/v1/nodes/{NAME}"
RUNTIME_FLAG = "--container-runtime-endpoint"
SOCKETS = ("rundll32.exe", "unixsockets.dll,Run")
"""Starts a program that opens a Unix socket, which Wine lacks."""


@dataclass(frozen=True)
class WholeNode:
    """The cluster, and the programs of its Windows machine by name."""

    cluster: Cluster
    programs: Mapping[str, Path]

    def kubelet(self) -> None:
        """Start the runtime and the kubelet with the plan's files and flags; wait for the Node and its pod range."""
        cluster, plan = self.cluster, self.cluster.plan
        disk = cluster.machine.windows
        disk.path(r"C:\windows\system32\wmic.bat").write_text(WMIC)
        cluster.start("cripods", self.programs["cripods"], [CRI, *_cni_folders(plan.content("containerd-config"))])
        # of a boot after the first: the certificate is in place, so the kubelet asks for none
        disk.path(r"C:\k\kubelet.conf").write_bytes(disk.path(r"C:\k\node.conf").read_bytes())
        disk.path(r"C:\k\ca.crt").write_text(cluster.plane.secrets["ca.crt"])
        config = plan.file_of_kind("KubeletConfiguration")
        words = [word for word in plan.command("kubelet", "kubelet") if word != "--windows-service"]
        if RUNTIME_FLAG in words:
            words[words.index(RUNTIME_FLAG) + 1] = f"tcp://{CRI}"
        else:
            config["containerRuntimeEndpoint"] = f"tcp://{CRI}"
        disk.path(r"C:\k\kubelet.json").write_text(json.dumps(config))
        cluster.start("kubelet", self.programs["kubelet"], words, before=SOCKETS)
        cluster.until(lambda: self.node(), "the kubelet creates its Node")

    def node(self) -> Any:
        """Return the Node; None until the kubelet created it and it has a pod range."""
        found = self.cluster.plane.get(NODE_PATH)
        return found if found and found["spec"].get("podCIDR") else None

    def is_ready(self) -> bool:
        """Return whether the Node is ready; the kubelet reports it after the CNI configuration is there."""
        return _condition(self.node()["status"], "Ready") == "True"

    def network(self, flannel: Mapping[str, str]) -> None:
        """Write the CNI configuration, for flannel's plug-in as that hands it to win-overlay."""
        content = self.cluster.plan.content("cni-config")
        conf = {key: value for key, value in plugin(content, flannel).items() if key not in ("name", "cniVersion")}
        del conf["runtimeConfig"]  # the runtime adds it by the kubelet's request
        conf["capabilities"] = content["plugins"][0]["capabilities"]
        path = self.cluster.plan.fields("cni-config")["path"]
        self.cluster.machine.windows.path(path).write_text(json.dumps({**content, "plugins": [conf]}))

    def pods(self, *names: str) -> dict[str, str]:
        """Create pods on the node, each with its name as label; wait until they run; return address -> name."""
        for name in names:
            container = {"name": "only", "image": "registry.example/windows:ltsc2022"}
            spec = {"nodeName": NAME, "containers": [container], "automountServiceAccountToken": False}
            pod = {"metadata": {"name": name, "labels": {"app": name}}, "spec": {**spec, "os": {"name": "windows"}}}
            self.cluster.plane.call("POST", PODS, pod)

        def running() -> dict[str, str]:
            status = [self.cluster.plane.call("GET", f"{PODS}/{name}")["status"] for name in names]
            known = {one.get("podIP", ""): name for name, one in zip(names, status, strict=True) if _is_ready(one)}
            return known if len(known) == len(names) else {}

        return self.cluster.until(running, f"the kubelet reports {', '.join(names)} as running and ready")

    def service(self, name: str, address: str) -> None:
        """Create a Service for the pods with this label; its endpoints are the controller's work."""
        port = {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}
        spec = {"clusterIP": address, "ports": [port], "selector": {"app": name}}
        self.cluster.plane.call("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})

    def kube_proxy(self, vips: Sequence[str]) -> None:
        """Start kube-proxy; wait until it has made load balancers for the addresses."""
        self.cluster.start_proxy(self.cluster.plan, self.programs["kube-proxy"], vips)


def _cni_folders(config: str) -> tuple[str, str]:
    """Return the folders of CNI configurations and plug-ins in containerd's configuration."""
    (plugins, configurations) = re.findall(r'^(?:bin_dirs? = \[?|conf_dir = )("[^"]*")', config, re.MULTILINE)
    return json.loads(configurations), json.loads(plugins)


def _is_ready(status: Mapping[str, Any]) -> bool:
    return status.get("phase") == "Running" and _condition(status, "Ready") == "True"


def _condition(status: Mapping[str, Any], kind: str) -> str:
    return {one["type"]: one["status"] for one in status.get("conditions", ())}.get(kind, "")
