"""Arguments of etcd, and its quota, which the agent has to know."""

from typing import Any

from components import releases
from components.catalogue import etcd_disks
from components.node.kinds import Step, step
from components.node.role import Role

_NAME = "quota-backend-bytes"
QUOTA = 8 << 30
"""Bytes of the database above which etcd refuses writes: its suggested maximum (etcd.io, Storage size limit)."""
DEFAULT = 2 << 30
"""etcd's default (etcd, DefaultQuotaBytes in server/storage/quota.go)."""
ARGUMENTS = {_NAME: str(QUOTA)}
DATA = "/var/lib/etcd"
"""Folder of etcd's data, kubeadm's default. Snapshots, restores and repeated tries of kubeadm use it too."""

LEAST = "3.5.26"
"""Oldest version of etcd that can be upgraded to 3.6, which kubeadm installs from 1.34 on. Older versions can keep
removed members in the file that 3.6 reads (https://etcd.io/blog/2025/zombie_members_upgrade).
"""


def least(role: Role) -> str:
    """Return the oldest version that members must have before the upgrade to this Kubernetes; "" for any."""
    return LEAST if releases.within(role.release.minor, "1.34", "") else ""


def image(role: Role) -> dict[str, str]:
    """Return the tag of etcd's image for kubeadm's ClusterConfiguration; empty for kubeadm's default."""
    return {"imageTag": role.release.etcd} if role.release.etcd_pinned else {}


def disk(role: Role, joined: str) -> tuple[Step, ...]:
    """Return the step that gives etcd's folder a disk of its own; empty without the option.

    joined: file that exists once the machine has joined. A machine that joined before the option was set has no disk.
    """
    if role.spec.control_plane.etcd_disk is None:
        return ()
    name = etcd_disks.NAME[role.spec.cloud.value]
    return (step("own-disk", "etcd-disk", disk=name, path=DATA, service="kubelet", joined=joined),)


def quota(cluster_configuration: dict[str, Any]) -> int:
    """Return etcd's quota in bytes, by kubeadm's ClusterConfiguration with the user's fields; 0 if etcd has none.

    etcd takes 0 for its default, and a negative number for no quota (etcd, server/storage/quota.go).
    """
    extra: Any = cluster_configuration["etcd"]["local"]["extraArgs"]
    written = extra.get(_NAME) if isinstance(extra, dict) else dict(map(_pair, extra)).get(_NAME)  # type: ignore[reportUnknownMemberType]
    try:
        number = int(str(written))  # type: ignore[reportUnknownArgumentType]
    except ValueError:
        return QUOTA  # with this text etcd does not start
    return max(number, 0) if number else DEFAULT


def _pair(argument: dict[str, str]) -> tuple[str, str]:
    return argument["name"], argument["value"]
