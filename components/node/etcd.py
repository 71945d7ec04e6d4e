"""Arguments of etcd, and its quota, which the agent has to know."""

from typing import Any

from components.node.role import Role

_NAME = "quota-backend-bytes"
QUOTA = 8 << 30
"""Bytes of the database above which etcd refuses writes: its suggested maximum (etcd.io, Storage size limit). etcd's
default is 2 GiB.
"""
ARGUMENTS = {_NAME: str(QUOTA)}
DATA = "/var/lib/etcd"
"""Folder of etcd's data, kubeadm's default. Snapshots, restores and repeated tries of kubeadm use it too."""


def image(role: Role) -> dict[str, str]:
    """Return the tag of etcd's image for kubeadm's ClusterConfiguration; empty for kubeadm's default."""
    return {"imageTag": role.release.etcd} if role.release.etcd_pinned else {}


def quota(cluster_configuration: dict[str, Any]) -> int:
    """Return etcd's quota in bytes, by kubeadm's ClusterConfiguration with the user's fields."""
    extra: Any = cluster_configuration["etcd"]["local"]["extraArgs"]
    written = extra.get(_NAME) if isinstance(extra, dict) else dict(map(_pair, extra)).get(_NAME)  # type: ignore[reportUnknownMemberType]
    return int(written) if str(written).isdigit() and int(written) else QUOTA  # type: ignore[reportUnknownArgumentType]


def _pair(argument: dict[str, str]) -> tuple[str, str]:
    return argument["name"], argument["value"]
