"""Table of Kubernetes minors.

Dates: endoflife.date products/kubernetes.md; of 1.37 kubernetes.io/releases. Images: kubeadm's constants of the last
patch (cmd/kubeadm/app/constants and images).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from components.releases.runtimes import CONTAINERD, Containerd

FIGURES_OF = "2026-11-21"
"""Day of these tables, ISO 8601: versions whose support ended before it cause a warning. Checks read no clock here, so
that a plan is the same on every day."""

SOURCE = "https://endoflife.date/kubernetes"


@dataclass(frozen=True)
class Release:
    """One Kubernetes minor."""

    minor: str
    end_of_life: str
    """Date of the last support, ISO 8601."""
    containerd: Containerd
    """containerd of machines unless the spec pins a version; CONTAINERD_SUPPORT has the versions that the minor
    takes."""
    pause: str
    """Tag of the pause image on Linux."""
    etcd: str
    """Tag of etcd's image: kubeadm's default, unless `etcd_pinned`."""
    etcd_pinned: bool
    """Whether kubeadm needs the tag in its configuration. etcd 3.6 counts members that 3.5 removed as present, unless
    every member ran 3.5.26 or newer before (etcd.io, 2025, "zombie members"). kubeadm 1.33 defaults to 3.5.24;
    kubernetes/k8s.io#9119 published 3.5.27.
    """
    etcd_restore: tuple[str, ...]
    """Command in that image that restores a snapshot. From etcd 3.5.10 on it raises the revisions, so that no client
    takes its cache for newer than the restored state."""
    coredns: str
    """Path and tag of CoreDNS's image, kubeadm's default."""
    crictl: dict[str, str]
    """Version of cri-tools by operating system: the nearest with a digest."""
    kubeadm_api: str
    registry: str | None
    """Registry of the images where kubeadm's default is frozen (k8s.gcr.io, to 1.21)."""
    coredns_registry: str | None
    """Registry of CoreDNS where `registry` is set: kubeadm 1.21 appends coredns/ only to its default."""
    windows_pause: str | None
    """Pause image on Windows where it differs from `pause` (RUN-07)."""
    flagged: tuple[str, ...]
    """KubeletConfiguration fields that Mullion writes as flags: the field is missing, or cannot be an empty text."""
    kubelet_patch: bool
    """Whether kubeadm merges a KubeletConfiguration patch (patch target kubeletconfiguration, from 1.25)."""
    dockershim: bool
    """Whether the kubelet talks to Docker itself, and to other runtimes only with --container-runtime=remote (to
    1.23)."""
    infra_image: bool
    """Whether the kubelet needs a flag with the pause image, so that it never deletes it (to 1.26; SRV-09)."""
    dsr_gates: tuple[str, ...]
    """Feature gates that kube-proxy on Windows needs for direct server return; WinDSR is on from 1.33."""
    log_runner: str
    """kube-log-runner: rotating by size (--log-file-size, from 1.34), plain, or missing (klog's own flags, to 1.22)."""
    cgroup_v2: str
    """Stage of control groups v2: alpha, beta (1.22), stable (1.25) (KEP-2254)."""
    credential_provider: str | None
    """Version of ecr-credential-provider, the nearest with a digest; None: the kubelet has no v1 API for it (to
    1.25)."""
    ignore_preflight: tuple[str, ...]
    """kubeadm's preflight checks for programs that nothing on the host uses."""
    pod_security_api: str | None
    """API version of PodSecurityConfiguration; None: the plugin is missing, or its feature gate is off (to 1.22)
    (kubernetes.io, Enforce Pod Security Standards by Configuring the Built-in Admission Controller)."""
    admission_policies: bool
    """Whether the API server serves ValidatingAdmissionPolicy v1 and writes the Node of a pod into its token: from 1.30
    (KEP-3488; KEP-4193, whose gate ServiceAccountTokenPodNodeInfo is beta and on there)."""
    mutating_policies: bool
    """Whether the API server serves MutatingAdmissionPolicy v1: from 1.36 (KEP-3962; the gate is on by default there,
    pkg/features/kube_features.go of k8s.io/apiserver v0.37.1)."""
    metrics_server: str
    """Version of metrics-server whose own table (README, "Compatibility Matrix") has the minor."""

    @property
    def tells_of_restores(self) -> bool:
        """Whether a restore raises etcd's revisions, so that every program that watches the cluster lists it again."""
        return "--bump-revision" in self.etcd_restore


def _both(version: str) -> dict[str, str]:
    return {"linux": version, "windows": version}


FIRST = Release(
    minor="1.20",
    end_of_life="2022-02-28",
    containerd=CONTAINERD["1.7"],
    pause="3.2",
    etcd="3.4.13-0",
    etcd_pinned=False,
    etcd_restore=("etcdctl", "snapshot", "restore"),
    coredns="coredns:1.7.0",
    # crictl talks CRI v1, which containerd and cri-dockerd serve whatever the kubelet's minor
    crictl={"linux": "1.25.0", "windows": "1.28.0"},
    kubeadm_api="kubeadm.k8s.io/v1beta2",
    registry="registry.k8s.io",
    coredns_registry=None,
    windows_pause="mcr.microsoft.com/oss/kubernetes/pause:1.4.1",
    flagged=("containerRuntimeEndpoint", "registerWithTaints", "resolvConf"),
    kubelet_patch=False,
    dockershim=True,
    infra_image=True,
    dsr_gates=("WinDSR",),
    log_runner="missing",
    cgroup_v2="alpha",
    credential_provider=None,
    # kube-proxy's image has conntrack
    ignore_preflight=("FileExisting-conntrack",),
    pod_security_api=None,
    admission_policies=False,
    mutating_policies=False,
    metrics_server="0.5.2",
)

CHANGES: dict[str, dict[str, Any]] = {
    "1.21": {
        "end_of_life": "2022-06-28",
        "pause": "3.4.1",
        "coredns": "coredns/coredns:v1.8.0",
        "coredns_registry": "registry.k8s.io/coredns",
    },
    "1.22": {
        "end_of_life": "2022-10-28",
        "pause": "3.5",
        "etcd": "3.5.6-0",
        "etcd_restore": ("etcdutl", "snapshot", "restore"),
        "coredns": "coredns/coredns:v1.8.4",
        "kubeadm_api": "kubeadm.k8s.io/v1beta3",
        "registry": None,
        "coredns_registry": None,
        "cgroup_v2": "beta",
    },
    "1.23": {
        "pod_security_api": "pod-security.admission.config.k8s.io/v1beta1",
        "end_of_life": "2023-02-28",
        "pause": "3.6",
        "coredns": "coredns/coredns:v1.8.6",
        "windows_pause": None,
        "flagged": ("containerRuntimeEndpoint",),
        "log_runner": "plain",
    },
    "1.24": {"end_of_life": "2023-07-28", "pause": "3.7", "dockershim": False},
    "1.25": {
        "pod_security_api": "pod-security.admission.config.k8s.io/v1",
        "end_of_life": "2023-10-27",
        "pause": "3.8",
        "windows_pause": "registry.k8s.io/pause:3.7",
        "metrics_server": "0.6.4",
        "etcd": "3.5.9-0",
        "coredns": "coredns/coredns:v1.9.3",
        "kubelet_patch": True,
        "cgroup_v2": "stable",
    },
    "1.26": {
        "end_of_life": "2024-02-28",
        "pause": "3.9",
        "windows_pause": None,
        "etcd": "3.5.10-0",
        # 1,000,000,000 revisions: more writes than a cluster makes in an hour, the most that a snapshot is old
        "etcd_restore": ("etcdutl", "snapshot", "restore", "--bump-revision", "1000000000", "--mark-compacted"),
        "crictl": {"linux": "1.26.1", "windows": "1.28.0"},
        "credential_provider": "1.33.0",
    },
    "1.27": {
        "end_of_life": "2024-06-28",
        "etcd": "3.5.12-0",
        "coredns": "coredns/coredns:v1.10.1",
        "crictl": {"linux": "1.27.1", "windows": "1.28.0"},
        "flagged": (),
        "infra_image": False,
        "metrics_server": "0.7.2",
    },
    "1.28": {"end_of_life": "2024-10-28", "etcd": "3.5.15-0", "crictl": _both("1.28.0")},
    "1.29": {
        "end_of_life": "2025-02-28",
        "etcd": "3.5.12-0",
        "coredns": "coredns/coredns:v1.11.1",
        "crictl": _both("1.29.0"),
    },
    "1.30": {
        "admission_policies": True,
        "end_of_life": "2025-07-15",
        "etcd": "3.5.15-0",
        "coredns": "coredns/coredns:v1.11.3",
        "crictl": _both("1.30.0"),
    },
    "1.31": {
        "end_of_life": "2025-11-11",
        "pause": "3.10",
        "etcd": "3.5.24-0",
        "crictl": _both("1.31.1"),
        "metrics_server": "0.8.1",
        "kubeadm_api": "kubeadm.k8s.io/v1beta4",
    },
    "1.32": {
        "end_of_life": "2026-02-28",
        "containerd": CONTAINERD["2.1"],
        "crictl": _both("1.32.0"),
        "ignore_preflight": (),
    },
    "1.33": {
        "end_of_life": "2026-06-28",
        "etcd": "3.5.27-0",
        "etcd_pinned": True,
        "coredns": "coredns/coredns:v1.12.0",
        "crictl": _both("1.33.0"),
        "dsr_gates": (),
    },
    "1.34": {
        "end_of_life": "2026-10-27",
        "pause": "3.10.1",
        "etcd": "3.6.5-0",
        "etcd_pinned": False,
        "coredns": "coredns/coredns:v1.12.1",
        "crictl": _both("1.34.0"),
        "credential_provider": "1.34.0",
        "log_runner": "rotating",
    },
    "1.35": {
        "end_of_life": "2027-02-28",
        "containerd": CONTAINERD["2.2"],
        "etcd": "3.6.6-0",
        "coredns": "coredns/coredns:v1.13.1",
        "crictl": _both("1.35.0"),
        "credential_provider": "1.35.0",
    },
    "1.36": {
        "mutating_policies": True,
        "end_of_life": "2027-06-28",
        "containerd": CONTAINERD["2.3"],
        "pause": "3.10.2",
        "etcd": "3.6.8-0",
        "coredns": "coredns/coredns:v1.14.2",
        "crictl": _both("1.36.0"),
        "credential_provider": "1.36.1",
    },
    # cri-tools 1.37.0 has no trusted digest for Windows
    "1.37": {
        "end_of_life": "2027-10-28",
        "etcd": "3.7.0-0",
        "coredns": "coredns/coredns:v1.14.6",
        "credential_provider": "1.37.0",
    },
}
"""Fields in which each minor differs from the one before it."""


def _releases() -> Iterator[Release]:
    release = FIRST
    yield release
    for minor, changes in CHANGES.items():
        release = replace(release, minor=minor, **changes)
        yield release


RELEASES: dict[str, Release] = {each.minor: each for each in _releases()}
"""Rows by minor, oldest first."""
