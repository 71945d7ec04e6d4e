"""Configuration of restore drills: a throw-away etcd beside the running one (cloud-init/linux/agent/drills.py)."""

from collections.abc import Sequence
from typing import Any

from components.node import etcd, images, kubeadm
from components.node.layout import PKI
from components.node.role import Role

FOLDER = f"{etcd.DATA}/drill"
"""Folder of the restored data, on etcd's disk."""
CLIENTS, PEER = "https://127.0.0.1:12379", "https://127.0.0.1:12380"
"""URLs of the throw-away etcd; etcd's certificates have 127.0.0.1 (kubeadm, cmd/kubeadm/app/util/pkiutil)."""
_CERTIFICATES = f"{PKI}/etcd"

_TLS = [
    *("--cert-file", f"{_CERTIFICATES}/server.crt", "--key-file", f"{_CERTIFICATES}/server.key"),
    *("--trusted-ca-file", f"{_CERTIFICATES}/ca.crt", "--client-cert-auth"),
    *("--peer-cert-file", f"{_CERTIFICATES}/peer.crt", "--peer-key-file", f"{_CERTIFICATES}/peer.key"),
    *("--peer-trusted-ca-file", f"{_CERTIFICATES}/ca.crt", "--peer-client-cert-auth"),
]


def configuration(role: Role, client: Sequence[str], endpoint: str) -> dict[str, Any]:
    """Return the section `drill` of the agent's configuration. client: etcdctl's command for the running endpoint."""
    exact = images.etcd_by_digest(role, kubeadm.cluster_configuration(role))
    urls = ["--listen-client-urls", CLIENTS, "--advertise-client-urls", CLIENTS]
    peers = ["--listen-peer-urls", PEER, "--initial-advertise-peer-urls", PEER]
    return {
        "folder": FOLDER,
        "config": kubeadm.INIT_CONFIG,
        "argv": list(role.release.etcd_restore),
        **({"etcd_image": exact} if exact else {}),
        "peer": PEER,
        "certificates": _CERTIFICATES,
        "etcd": ["etcd", *urls, *peers, *_TLS, "--quota-backend-bytes", f"{etcd.QUOTA}"],
        "client": [CLIENTS if word == endpoint else word for word in client],
    }
