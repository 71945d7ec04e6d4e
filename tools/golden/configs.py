"""History of every configuration document: whole for the oldest Kubernetes minor, then the differences of each minor.

One golden file per document; `make generate` writes them.
"""

import difflib
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from components import releases
from components.node import cni, kubeadm, kubelet, network, proxy, runtime
from components.node.kinds import Step
from components.node.role import Role, role
from components.node.toml import toml
from tools.golden.samples import PATCHES, one, plan, spec

EVERYTHING: dict[str, Any] = {
    "labels": {"team": "billing"},
    "taints": ["os=windows:NoSchedule", "solo:NoExecute"],
    "kubelet": {
        "system_reserved": {"cpu": "600m", "memory": "3Gi", "ephemeral_storage": "2Gi"},
        "kube_reserved": {"cpu": "100m", "memory": "200Mi"},
        "eviction_hard": {"nodefs.available": "10%"},
    },
    "kube_proxy": {"dsr": True},
}
"""Options of a Windows pool that configuration documents contain."""


def _windows(kubernetes: str, **pool: Any) -> Role:
    # rendering does not check whether the minor supports the Windows release
    return role("dev", spec("windows-2022", {**EVERYTHING, **pool}, kubernetes=kubernetes), "pool")


def _bridged(kubernetes: str, runtime_name: str) -> Role:
    cluster = spec("windows-2022", {"runtime": runtime_name}, kubernetes=kubernetes, network={"mode": "l2bridge"})
    return role("dev", cluster, "pool")


def _linux(kubernetes: str) -> Role:
    return role("dev", spec("ubuntu-22.04", kubernetes=kubernetes), "pool")


def _control_plane(kubernetes: str) -> Role:
    return role("dev", spec(kubernetes=kubernetes), None)


def _service(kubernetes: str, name: str, **pool: Any) -> list[Any]:
    step: Step = one(plan("windows-2022", {**EVERYTHING, **pool}, kubernetes=kubernetes), name)
    return step.fields["command"]


DOCUMENTS: dict[str, Callable[[str], Any]] = {
    "kubeadm-init": lambda v: kubeadm.init_documents(_control_plane(v)),
    "kubeadm-join-control-plane": lambda v: kubeadm.join_configuration(_control_plane(v)),
    "kubeadm-join-worker": lambda v: kubeadm.join_configuration(_linux(v)),
    "kubelet-linux": lambda v: kubelet.configuration(_linux(v)),
    "kubelet-linux-flags": lambda v: kubelet.flags(_linux(v)),
    "kubelet-windows": lambda v: kubelet.configuration(_windows(v)),
    "kubelet-windows-command": lambda v: _service(v, "kubelet"),
    "kubelet-windows-docker": lambda v: kubelet.configuration(_windows(v, runtime="docker")),
    "kubelet-windows-docker-command": lambda v: _service(v, "kubelet", runtime="docker"),
    "kube-proxy-linux": lambda v: proxy.configuration(_control_plane(v)),
    "kube-proxy-windows": lambda v: proxy.configuration(_windows(v)),
    "kube-proxy-windows-l2bridge": lambda v: proxy.configuration(_bridged(v, "containerd")),
    "kube-proxy-windows-command": lambda v: _service(v, "kube-proxy"),
    "containerd-linux": lambda v: toml(runtime.configuration(_linux(v))),
    "containerd-windows": lambda v: toml(runtime.configuration(_windows(v))),
    "docker-daemon": lambda v: runtime.DAEMON,
    "docker-version": lambda v: vars(releases.docker(v)),
    "cri-dockerd-command": lambda v: (
        None if releases.docker(v).cri_dockerd is None else _service(v, "cri-dockerd", runtime="docker")
    ),
    "cni-linux": lambda v: cni.linux(_linux(v).spec.network),
    "cni-windows-overlay-containerd": lambda v: cni.windows(_windows(v)),
    "cni-windows-overlay-docker": lambda v: cni.windows(_windows(v, runtime="docker")),
    "cni-windows-l2bridge-containerd": lambda v: cni.windows(_bridged(v, "containerd")),
    "cni-windows-l2bridge-docker": lambda v: cni.windows(_bridged(v, "docker")),
    "flannel-net-conf-overlay": lambda v: network.net_conf(_windows(v)),
    "cni-linux-l2bridge": lambda v: cni.linux_bridge(_bridged(v, "containerd").spec.network),
}
"""Name of a document -> function from the Kubernetes version to its content: data, or text for text files."""


class _Plain(yaml.SafeDumper):
    """YAML without anchors: repeated values are written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def text(name: str, kubernetes: str) -> str:
    """Return the document as readable text, with <version> for the patch version."""
    content = DOCUMENTS[name](kubernetes)
    if not isinstance(content, str):
        content = yaml.dump(content, Dumper=_Plain, sort_keys=False, width=110)
    return content.replace(kubernetes, "<version>")


def history(name: str) -> str:
    """Return the document of the oldest minor, then the changed lines for each minor that changes it."""
    return "\n".join(_parts(name)) + "\n"


def _parts(name: str) -> Iterator[str]:
    before: list[str] = []
    for minor, kubernetes in PATCHES.items():
        now = text(name, kubernetes).rstrip("\n").splitlines()
        if not before:
            yield f"### {minor}"
            yield from now
        elif now != before:
            yield f"\n### {minor}"
            yield from list(difflib.unified_diff(before, now, lineterm="", n=1))[2:]
        before = now
