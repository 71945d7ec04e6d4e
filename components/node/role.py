"""Role: the options from which a node plan is made, of the control plane or of a pool."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from components import naming, releases
from components.catalogue.artifacts import Catalogue, catalogue
from components.spec.models import ClusterSpec, Containerd, Gate, Kubelet, KubeProxy, OperatingSystem, Runtime

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
CONTROL_PLANE_TAINT = f"{CONTROL_PLANE_LABEL}:NoSchedule"
"""kubeadm's own: cluster add-ons tolerate it, workloads do not."""

POOL_LABEL = "mullion.dev/pool"
"""NodeRestriction lets a kubelet set labels outside kubernetes.io and k8s.io, so also this one."""


@dataclass(frozen=True)
class Role:
    """The control plane of a cluster, or one of its pools."""

    cluster: str
    spec: ClusterSpec
    name: str
    """Pool name, or control-plane."""
    is_control_plane: bool
    os: OperatingSystem
    size: str
    max_pods: int
    kubelet: Kubelet
    kube_proxy: KubeProxy
    runtime: Runtime
    containerd: Containerd
    labels: Mapping[str, str]
    gate: Gate
    """State a machine must reach to count as ready in a rollout."""
    taints: tuple[str, ...]
    """key=value:Effect or key:Effect."""

    @property
    def release(self) -> releases.Release:
        """What depends on the Kubernetes version."""
        return releases.release(self.spec.kubernetes)

    @property
    def containerd_release(self) -> releases.Containerd:
        """The containerd of its machines: the spec's own version, or the minor's."""
        version = self.containerd.version
        return self.release.containerd if version is None else releases.containerd(version)

    @cached_property
    def catalogue(self) -> Catalogue:
        """URLs and digests of downloads."""
        return catalogue(self.spec.artifacts)

    @property
    def system(self) -> str:
        """Either linux or windows."""
        return "windows" if self.os.is_windows else "linux"

    @property
    def registration(self) -> dict[str, Any]:
        """Labels and taints at registration; the kubelet adds the Windows build."""
        labels = {**self.labels, POOL_LABEL: self.name}
        joined = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        return {
            "labels": joined,
            "taints": [taint(each) for each in self.taints],
            "taint_text": ",".join(self.taints),
        }


def taint(text: str) -> dict[str, str]:
    """key=value:Effect as a Kubernetes object."""
    front, _, effect = text.rpartition(":")
    key, _, value = front.partition("=")
    return {"key": key, "value": value, "effect": effect}


def role(cluster: str, spec: ClusterSpec, pool: str | None) -> Role:
    """The role of a pool, or of the control plane (None). KeyError when the spec has no such pool."""
    if pool is None:
        each = spec.control_plane
        return Role(
            cluster,
            spec,
            naming.CONTROL_PLANE,
            is_control_plane=True,
            os=each.os,
            size=each.size,
            max_pods=110,
            kubelet=each.kubelet,
            kube_proxy=each.kube_proxy,
            runtime=Runtime.CONTAINERD,
            containerd=each.containerd,
            labels={},
            gate=Gate.READY,
            taints=(CONTROL_PLANE_TAINT,),
        )
    workers = spec.pools[pool]
    return Role(
        cluster,
        spec,
        pool,
        is_control_plane=False,
        os=workers.os,
        size=workers.size,
        max_pods=workers.max_pods,
        kubelet=workers.kubelet,
        kube_proxy=workers.kube_proxy,
        runtime=workers.runtime,
        containerd=workers.containerd,
        labels=workers.labels,
        gate=workers.rollout.gate,
        taints=tuple(workers.taints),
    )
