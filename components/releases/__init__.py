"""What depends on a version: tables, and lookups that say which table has no answer.

No other module compares versions.
"""

from collections.abc import Mapping
from typing import TypeVar

from components.releases.fields import CHANGES, CLUSTER, CONTAINERD, INIT, JOIN, KUBE_PROXY, KUBELET, SET_BY_US
from components.releases.kubernetes import (
    CNI_PLUGINS,
    FLANNEL,
    FLANNEL_CNI,
    NSSM,
    RELEASES,
    REMOVED_KUBELET_FLAGS,
    Containerd,
    Release,
)
from components.releases.systems import LINUX_IMAGE_PARAMETERS, WINDOWS, RegistryFix, WindowsRelease

__all__ = [
    "CNI_PLUGINS",
    "FLANNEL",
    "FLANNEL_CNI",
    "NSSM",
    "REMOVED_KUBELET_FLAGS",
    "SET_BY_US",
    "Containerd",
    "RegistryFix",
    "Release",
    "UnknownRelease",
    "WindowsRelease",
    "containerd_tables",
    "image_parameter",
    "kube_proxy_fields",
    "kubeadm_fields",
    "kubelet_fields",
    "minor",
    "pause_image",
    "release",
    "supported_minors",
    "windows",
]

_Row = TypeVar("_Row")


class UnknownRelease(LookupError):
    """A table has no row for the version."""


def minor(version: str) -> str:
    """1.32 of 1.32.13; a minor stays as it is."""
    return ".".join(version.split(".")[:2])


def release(version: str) -> Release:
    """What depends on the Kubernetes version, given as 1.32.13 or 1.32."""
    return _row(RELEASES, minor(version), "Kubernetes releases")


def supported_minors() -> tuple[str, ...]:
    """Kubernetes minors, oldest first."""
    return tuple(RELEASES)


def windows(os: str) -> WindowsRelease:
    """What depends on the Windows release, given as windows-2019."""
    return _row(WINDOWS, os, "Windows releases")


def image_parameter(os: str) -> str:
    """Name of the AWS Systems Manager parameter with the newest image id of the operating system."""
    known = {name: each.image_parameter for name, each in WINDOWS.items()} | LINUX_IMAGE_PARAMETERS
    return _row(known, os, "AWS images")


def pause_image(version: str, os: str) -> str:
    """The pause image for a Kubernetes version on an operating system (RUN-07)."""
    special = WINDOWS[os].pause if os in WINDOWS else None
    return f"registry.k8s.io/pause:{special or release(version).pause}"


def kubelet_fields(version: str) -> frozenset[str]:
    """Fields of KubeletConfiguration v1beta1."""
    return _fields("kubelet", KUBELET, version)


def kube_proxy_fields(version: str) -> frozenset[str]:
    """Fields of KubeProxyConfiguration v1alpha1."""
    return _fields("kube-proxy", KUBE_PROXY, version)


def kubeadm_fields(version: str) -> dict[str, frozenset[str]]:
    """Fields of kubeadm's documents, by kind."""
    bases = {"ClusterConfiguration": CLUSTER, "InitConfiguration": INIT, "JoinConfiguration": JOIN}
    return {kind: _fields(kind, base, version) for kind, base in bases.items()}


def containerd_tables(version: str) -> frozenset[str]:
    """Top-level keys of config.toml of the containerd that the Kubernetes version gets."""
    release(version)
    return CONTAINERD


def _fields(document: str, base: frozenset[str], version: str) -> frozenset[str]:
    wanted = release(version).minor
    until = supported_minors()[: supported_minors().index(wanted) + 1]
    changes = CHANGES.get(document, {})
    return base.union(*(changes.get(each, frozenset()) for each in until))


def _row(table: Mapping[str, _Row], key: str, name: str) -> _Row:
    found = table.get(key)
    if found is None:
        raise UnknownRelease(f"table {name} has no row for {key!r}; it has {', '.join(table)}")
    return found
