"""Role: the options from which the node plan of the control plane or of a pool is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from components import naming, releases
from components.catalogue.artifacts import Catalogue, catalogue
from components.spec.models import (
    ClusterSpec,
    Containerd,
    Gate,
    Isolation,
    Kubelet,
    KubeProxy,
    OperatingSystem,
    Runtime,
)
from components.topology.firewall import API_PORT

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
CONTROL_PLANE_TAINT = f"{CONTROL_PLANE_LABEL}:NoSchedule"
"""kubeadm's taint: cluster add-ons tolerate it, workloads do not."""

POOL_LABEL = "mullion.dev/pool"
"""Label with the pool's name; NodeRestriction lets a kubelet set labels outside kubernetes.io and k8s.io."""

SPOT_LABEL = "mullion.dev/spot"
"""Label, with the value true, of Nodes that the cloud may take back."""


HYPERV_LABEL = "mullion.dev/hyperv"
"""Label, with the value true, of Nodes that offer Hyper-V isolation; RuntimeClasses select it."""


@dataclass(frozen=True)
class Role:
    """Options of a cluster's control plane or of one of its pools."""

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
    pre_pull: tuple[str, ...]
    """Images to pull before the machine joins."""
    taints: tuple[str, ...]
    """Taints as key=value:Effect or key:Effect."""
    spot: bool
    """Whether the cloud may take the machines back."""
    hyperv: bool = False
    """Whether the machines offer Hyper-V isolation."""

    @property
    def joins(self) -> bool:
        """Return whether the machines join a cluster that somebody else made, without Mullion's agent."""
        return self.spec.existing_cluster is not None

    @property
    def api_port(self) -> int:
        """Return the port of the API endpoint."""
        existing = self.spec.existing_cluster
        return existing.port if existing else API_PORT

    @property
    def release(self) -> releases.Release:
        """Return the release tables' row for the cluster's Kubernetes version."""
        return releases.release(self.spec.kubernetes)

    @property
    def containerd_release(self) -> releases.Containerd:
        """Return the containerd release of the machines: the version in the spec, or the minor's default."""
        version = self.containerd.version
        return self.release.containerd if version is None else releases.containerd(version)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Return URLs and digests of downloads."""
        return catalogue(self.spec.artifacts)

    @property
    def system(self) -> str:
        """Return linux or windows."""
        return "windows" if self.os.is_windows else "linux"

    @property
    def registration(self) -> dict[str, Any]:
        """Return labels and taints at registration; the kubelet adds the label of the Windows build."""
        own = {POOL_LABEL: self.name}
        own |= {label: "true" for label, holds in ((SPOT_LABEL, self.spot), (HYPERV_LABEL, self.hyperv)) if holds}
        labels = {**self.labels, **own}
        joined = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        return {
            "labels": joined,
            "taints": [taint(each) for each in self.taints],
            "taint_text": ",".join(self.taints),
        }


def taint(text: str) -> dict[str, str]:
    """Return a taint, key=value:Effect, as a Kubernetes object."""
    front, _, effect = text.rpartition(":")
    key, _, value = front.partition("=")
    return {"key": key, "value": value, "effect": effect}


def role(cluster: str, spec: ClusterSpec, pool: str | None) -> Role:
    """Return the role of a pool, or of the control plane (None). Raises KeyError if the spec lacks the pool."""
    if pool is None:
        control_plane = spec.control_plane
        return Role(
            cluster,
            spec,
            naming.CONTROL_PLANE,
            is_control_plane=True,
            os=control_plane.os,
            size=control_plane.size,
            max_pods=110,
            kubelet=control_plane.kubelet,
            kube_proxy=control_plane.kube_proxy,
            runtime=Runtime.CONTAINERD,
            containerd=control_plane.containerd,
            labels={},
            gate=Gate.READY,
            pre_pull=(),
            taints=(CONTROL_PLANE_TAINT,),
            spot=False,
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
        pre_pull=tuple(workers.pre_pull),
        taints=tuple(workers.taints),
        spot=workers.spot,
        hyperv=workers.isolation is Isolation.HYPERV,
    )
