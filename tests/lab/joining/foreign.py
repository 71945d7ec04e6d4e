"""A Linux cluster that kubeadm made, without anything of Mullion, as processes in a network of machines."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml

from components.machine.pki import KeyPair
from components.node import addons
from components.releases import minor, within
from components.rollout.kubernetes_api import Access, KubernetesApi
from components.rollout.own_kubeconfig import read
from sandbox.boot import balancers
from sandbox.boot.network_namespaces import thread
from sandbox.boot.network_namespaces import within as in_network
from tests.lab.joining.control_plane import PODS, PORT, ControlPlane

FOUNDER = "linux-0"
"""Name of the Node of the control plane's machine."""


@dataclass
class Foreign(ControlPlane):
    """The control plane. kubeadm itself made its authorities."""

    def begin(self) -> None:
        """Start it, and do what its administrator did after `kubeadm init`: kubeadm's add-ons, flannel, a Node."""
        self.start()
        for words in (("upload-config", "all"), ("addon", "all")):
            self._kubeadm(*words, "--config", str(self._config()), "--kubeconfig", str(self._administrator()))
        self.call("POST", "/api/v1/nodes", _node(self.address))
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-flannel"}})
        self.call("POST", "/api/v1/namespaces/kube-flannel/configmaps", _FLANNEL)
        self.call("POST", "/apis/apps/v1/namespaces/kube-flannel/daemonsets", _DAEMONS)
        self.call("POST", "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", _NAMES)
        self.apply(addons.windows_node_rights())  # printed by `mullion join --check`

    def kubeconfig(self, folder: Path) -> tuple[Path, str]:
        """Write the administrator's kubeconfig for this host, which forwards to the API; return it, and the URL."""
        listener = socket.create_server(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        way = balancers.Forwarder("127.0.0.1", 0, {}, [(self.address, PORT)], listener=listener)
        thread(self.space, lambda: asyncio.run(balancers.serve(way)))
        document = yaml.safe_load(self._administrator().read_text())
        document["clusters"][0]["cluster"] |= {"server": url, "tls-server-name": self.host}
        path = folder / "admin.conf"
        path.write_text(yaml.safe_dump(document))
        return path, url

    def by_token(self, token: str, path: str, body: Any = None) -> int:
        """Return the status of the answer to a request with a bootstrap token; with a body a POST."""
        context = ssl.create_default_context(cadata=self.secrets["ca.crt"])
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = Request(f"https://{self.address}:{PORT}{path}", data=data, headers=headers)

        def ask() -> int:
            try:
                with urlopen(asked, timeout=10, context=context) as answer:
                    return answer.status
            except HTTPError as error:
                return error.code

        return in_network(self.space, ask)

    def _certificates(self) -> None:
        super()._certificates()
        user = self._administrator().stem
        self._kubeadm("kubeconfig", user, "--config", str(self._config()), "--kubeconfig-dir", str(self.folder))
        self.secrets = {name: (self._pki / name).read_text() for name in ("ca.crt", "ca.key")}

    def _api_server(self) -> list[str]:
        return [*super()._api_server(), "--allow-privileged=true"]  # kube-proxy's DaemonSet needs it

    def _administrator(self) -> Path:
        """Return kubeadm's kubeconfig of system:masters: from 1.29 on not admin.conf."""
        return self.folder / ("super-admin.conf" if within(minor(self.kubernetes), "1.29", "") else "admin.conf")

    def _ask(self, what: Callable[[KubernetesApi], Any], who: KeyPair | None = None) -> Any:
        pair = who or read(self._administrator()).administrator
        access = Access(f"https://{self.address}:{PORT}", self.host, self.secrets["ca.crt"], pair)
        return in_network(self.space, lambda: what(KubernetesApi(access)))


def _node(address: str) -> dict[str, Any]:
    return {
        "metadata": {"name": FOUNDER, "labels": {"kubernetes.io/os": "linux"}},
        "spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }


_SETTINGS = {"Network": PODS, "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}
_FLANNEL = {"metadata": {"name": "kube-flannel-cfg"}, "data": {"net-conf.json": json.dumps(_SETTINGS)}}
_POD = {
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "containers": [{"name": "kube-flannel", "image": "ghcr.io/flannel-io/flannel:v0.28.10"}],
    "volumes": [{"name": "cfg", "configMap": {"name": "kube-flannel-cfg"}}],
}
_DAEMONS = {
    "metadata": {"name": "kube-flannel-ds"},
    "spec": {
        "selector": {"matchLabels": {"app": "flannel"}},
        "template": {"metadata": {"labels": {"app": "flannel"}}, "spec": _POD},
    },
}
_NAMES = {
    "metadata": {"name": "kube-dns-lab", "labels": {"kubernetes.io/service-name": "kube-dns"}},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.244.0.7"], "conditions": {"ready": True}}],
    "ports": [{"port": 53}],
}


def merged(path: Path, more: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a stack file, with more options of its cluster."""
    document = yaml.safe_load(path.read_text("utf-8"))
    document["config"]["mullion:cluster"] |= more
    return document
