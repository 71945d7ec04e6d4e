"""Container runtimes and network plug-ins: versions, the Kubernetes minors that take them, and ends of support."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Containerd:
    """One containerd: its version, the runc it was tested with, and the form of config.toml."""

    version: str
    runc: str
    config_version: int
    """Version of config.toml: 2 for containerd 1.x, 3 for 2.x, 4 from 2.3 on, which logs a warning for an older one."""
    cni_directories: str
    """Key of the CNI binary directories: bin_dir takes one, bin_dirs (from 2.2 on, where bin_dir warns) a list."""
    end_of_life: str
    """End of support of its minor, ISO 8601."""


CONTAINERD_SOURCE = "https://github.com/containerd/containerd/blob/main/RELEASES.md"

CONTAINERD: dict[str, Containerd] = {
    "1.6": Containerd("1.6.32", "1.1.15", 2, "bin_dir", "2025-08-23"),
    "1.7": Containerd("1.7.25", "1.2.9", 2, "bin_dir", "2026-09-30"),
    "2.0": Containerd("2.0.5", "1.2.9", 3, "bin_dir", "2025-11-07"),
    "2.1": Containerd("2.1.4", "1.3.6", 3, "bin_dir", "2026-05-05"),
    "2.2": Containerd("2.2.7", "1.3.6", 3, "bin_dirs", "2026-11-06"),
    "2.3": Containerd("2.3.4", "1.4.3", 4, "bin_dirs", "2028-04-30"),
}
"""By minor: the newest patch with a digest for both operating systems."""

CONTAINERD_SUPPORT: dict[str, tuple[str, ...]] = {
    # these kubelets speak only CRI v1alpha2, which containerd 2.0 removed
    "1.20": ("1.6.0", "1.7.0"),
    "1.21": ("1.6.0", "1.7.0"),
    "1.22": ("1.6.0", "1.7.0"),
    "1.23": ("1.6.0", "1.7.0"),
    "1.24": ("1.6.4", "1.7.0"),
    "1.25": ("1.6.4", "1.7.0"),
    "1.26": ("1.6.15", "1.7.0"),
    "1.27": ("1.6.15", "1.7.0"),
    "1.28": ("1.6.15", "1.7.0"),
    "1.29": ("1.6.27", "1.7.11"),
    "1.30": ("1.6.28", "1.7.13", "2.0.0", "2.1.0"),
    "1.31": ("1.6.34", "1.7.20", "2.0.0", "2.1.0"),
    "1.32": ("1.6.36", "1.7.24", "2.0.1", "2.1.0"),
    "1.33": ("1.6.36", "1.7.24", "2.0.4", "2.1.0"),
    "1.34": ("1.6.39", "1.7.28", "2.0.6", "2.1.3"),
    "1.35": ("1.7.28", "2.1.5", "2.2.0"),
    "1.36": ("2.2.0", "2.3.0"),
    "1.37": ("2.2.0", "2.3.0"),
}
"""By Kubernetes minor: the oldest patch of each containerd minor that it takes (CONTAINERD_SOURCE; 1.37 like 1.36)."""


@dataclass(frozen=True)
class Docker:
    """A Docker Engine for Windows, with cri-dockerd if the kubelet needs it."""

    version: str
    end_of_life: str
    """ISO 8601."""
    cri_dockerd: str | None
    """Version of cri-dockerd; None: the kubelet's dockershim."""


DOCKER_SOURCE = "https://endoflife.date/docker-engine"

DOCKERSHIM = Docker("20.10.23", "2023-12-10", None)
"""Docker Engine for 1.20 to 1.23: kubeadm was tested up to 20.10, and newer engines refuse dockershim's API version."""

CRI_DOCKERD = Docker("28.5.2", "2025-11-10", "0.4.3")
"""Docker Engine from 1.24 on: cri-dockerd 0.4.3 was not released for 29. End of support: the first release of 29."""

CNI_PLUGINS = "1.9.1"
"""Version of the CNI plug-ins: the only one with digests for both systems; its win-overlay takes cniVersion 1.0.0."""

CNI_VERSIONS: dict[str, str] = {"containerd": "1.0.0", "docker": "0.3.1"}
"""cniVersion of CNI files on Windows: dockershim and cri-dockerd call the plug-ins for HNS v1 (NET-09)."""

FLANNEL = "0.28.9"
"""Version of flannel, newer than 0.25.5 (FLN-06): flanneld.exe pinned by digest, the Linux image by tag (no digest was
found)."""

FLANNEL_CNI = "1.9.1-flannel3"
"""Version of flannel's CNI plug-in for this flannel."""

ACR_PROVIDER = "1.36.3"
"""Version of Azure's credential provider for kubelets of all minors: it serves the API v1, which kubelets have since
1.26. Its digest is in GitHub's release API only."""

GCP_PROVIDER = "35.1.0"
"""Version of Google's credential provider, for kubelets of all minors like Azure's; the newest with digests for both
systems."""

NSSM = "2.24-101-g897c7ad"
"""Version of the service wrapper for programs without a service mode; nssm.cc recommends this build for Windows 10 1703
and newer."""
