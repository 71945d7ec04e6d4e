"""What depends on the Kubernetes minor, and on the containerd it gets.

A row for 1.20 to 1.30 needs, besides its figures: a kubeadm document of v1beta2 (to 1.21) or
v1beta3 (to 1.30) in `node/kubeadm.py`, fields in `fields.py`, kubelet flags that are still
flags there (`--container-runtime=remote` to 1.26), and artefacts with digests.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Containerd:
    """One containerd line: its version, the runc it was tested with, and the shape of config.toml."""

    version: str
    runc: str
    config_version: int
    """2 for containerd 1.x, 3 for 2.x."""
    cni_directories: str
    """Key of the CNI binary directories: bin_dir takes one, bin_dirs (from 2.2 on, where bin_dir warns) a list."""


CONTAINERD: dict[str, Containerd] = {
    "1.7": Containerd("1.7.25", "1.2.9", 2, "bin_dir"),
    "2.1": Containerd("2.1.4", "1.3.6", 3, "bin_dir"),
    "2.2": Containerd("2.2.7", "1.3.6", 3, "bin_dirs"),
    "2.3": Containerd("2.3.4", "1.4.3", 3, "bin_dirs"),
}
"""The newest patch of each line that has a digest for both operating systems in artifacts.json."""


@dataclass(frozen=True)
class Release:
    """One Kubernetes minor."""

    minor: str
    end_of_life: str
    """Date of the last support, ISO 8601 (endoflife.date; 1.37: kubernetes.io/releases)."""
    containerd: Containerd
    """A line of containerd's own support table for this minor (containerd RELEASES.md)."""
    pause: str
    """Tag of the pause image, kubeadm's default of the minor (cmd/kubeadm/app/constants)."""
    crictl: str
    """cri-tools of the minor; 1.37.0 has no trusted digest for Windows."""
    kubeadm_api: str = "kubeadm.k8s.io/v1beta4"
    dsr_gates: tuple[str, ...] = ()
    """Feature gates that kube-proxy on Windows needs for direct server return; WinDSR is on from 1.33."""
    log_rotation: bool = True
    """kube-log-runner rotates by size (--log-file-size, from 1.34)."""
    ignore_preflight: tuple[str, ...] = ()
    """kubeadm checks for programs that nothing of ours uses on the host."""


_CONNTRACK = ("FileExisting-conntrack",)
"""Up to 1.31 kubeadm wants the conntrack program; kube-proxy brings its own in its image."""

RELEASES: dict[str, Release] = {
    each.minor: each
    for each in (
        Release(
            "1.31",
            "2025-11-11",
            CONTAINERD["1.7"],
            "3.10",
            "1.31.1",
            dsr_gates=("WinDSR",),
            log_rotation=False,
            ignore_preflight=_CONNTRACK,
        ),
        Release("1.32", "2026-02-28", CONTAINERD["2.1"], "3.10", "1.32.0", dsr_gates=("WinDSR",), log_rotation=False),
        Release("1.33", "2026-06-28", CONTAINERD["2.1"], "3.10", "1.33.0", log_rotation=False),
        Release("1.34", "2026-10-27", CONTAINERD["2.1"], "3.10.1", "1.34.0"),
        Release("1.35", "2027-02-28", CONTAINERD["2.2"], "3.10.1", "1.35.0"),
        Release("1.36", "2027-06-28", CONTAINERD["2.3"], "3.10.2", "1.36.0"),
        Release("1.37", "2027-10-28", CONTAINERD["2.3"], "3.10.2", "1.36.0"),
    )
}

_GONE = frozenset(
    {
        "network-plugin",
        "cni-bin-dir",
        "cni-conf-dir",
        "image-pull-progress-deadline",
        "docker-endpoint",
        "log-dir",
        "logtostderr",
        "container-runtime",
        "keep-terminated-pod-volumes",
    }
)

REMOVED_KUBELET_FLAGS: dict[str, frozenset[str]] = {
    "1.31": _GONE,
    "1.32": _GONE,
    "1.33": _GONE,
    "1.34": _GONE | {"cloud-config"},
    "1.35": _GONE | {"cloud-config", "pod-infra-container-image"},
    "1.36": _GONE | {"cloud-config", "pod-infra-container-image"},
    "1.37": _GONE | {"cloud-config", "pod-infra-container-image"},
}
"""Kubelet flags of the guides that the minor no longer knows; one of them ends the kubelet (SRV-09)."""

CNI_PLUGINS = "1.9.1"
"""The only version with digests for both operating systems; its win-overlay takes cniVersion 1.0.0."""

FLANNEL = "0.28.9"
"""FLN-06: newer than 0.25.5, flanneld.exe pinned by digest; the Linux image by tag (no digest was found)."""

FLANNEL_CNI = "1.9.1-flannel3"
"""flannel's CNI plugin that goes with it."""

NSSM = "2.24-101-g897c7ad"
"""Service wrapper for programs without a service mode; nssm.cc names this build for Windows 10 1703 and newer."""
