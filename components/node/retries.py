"""What a repeated try of kubeadm removes first, and which of its preflight checks it ignores."""

from typing import Any

from components.node.layout import PKI

_OF_KUBELET = (
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/var/lib/kubelet/pki",
)

_OF_WORKER = (*_OF_KUBELET, f"{PKI}/ca.crt")
"""Files that `kubeadm join` creates on a worker; it refuses to start if one of them exists."""

CERTIFICATES = (
    *("apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client"),
    *("etcd/server", "etcd/peer", "etcd/healthcheck-client"),
)

KUBECONFIGS = ("admin", "super-admin", "controller-manager", "scheduler")

_OF_CONTROL_PLANE = (
    *_OF_KUBELET,
    *(f"/etc/kubernetes/{each}.conf" for each in KUBECONFIGS),
    "/etc/kubernetes/manifests",
    *(f"{PKI}/{name}.{ending}" for name in CERTIFICATES for ending in ("crt", "key")),
)
"""Files that kubeadm creates on a control plane from authorities and keys, so that it can create them again.

Never /var/lib/etcd: a member that was added to etcd must keep its data.
"""

_BUSY = ("Port-10250",)

_CONTROL_PLANE_BUSY = (
    *("DirAvailable--var-lib-etcd", "Port-2379", "Port-2380", "Port-6443"),
    *("Port-10250", "Port-10257", "Port-10259"),
)
"""Preflight checks that fail after an unfinished try: its containers run until the kubelet starts again."""


def of_control_plane() -> dict[str, Any]:
    """Return the fields of a control plane's step for a try after one that was interrupted or failed."""
    return _again(_OF_CONTROL_PLANE, _CONTROL_PLANE_BUSY)


def of_worker() -> dict[str, Any]:
    """Return the fields of a worker's step for a try after one that was interrupted or failed."""
    return _again(_OF_WORKER, _BUSY)


def _again(files: tuple[str, ...], busy: tuple[str, ...]) -> dict[str, Any]:
    return {"clears": list(files), "again": ["--ignore-preflight-errors", ",".join(busy)]}
