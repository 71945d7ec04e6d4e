"""Names of machines, their identities in the cloud, and zones. No other module builds them."""

import hashlib
from enum import Enum

CONTROL_PLANE = "control-plane"
"""Name of the control plane's machine group; no pool can have it."""

WORKERS = "workers"
"""Name of what belongs to the workers of all pools: a security group, and on AWS a role."""

POOL_OF = "Pods of the Kubernetes cluster "
"""Beginning of the description of a cluster's workload identity pool (Google Cloud); `reap` finds the pool by it."""
PODS = "pods"
"""Part of the names of roles that pods get by their service accounts."""

KEEP_TAG = "mullion-keep"
"""Tag (on GCP label) of a volume or snapshot that stays when its cluster expires, whatever its value. It does
not begin with `mullion:`, because drivers may not set such tags."""

MAX_NODE_NAME = 15
"""Most characters of a Windows computer name (NetBIOS; SRV-12)."""

ZONE_SUFFIX = "mullion.internal"
"""Suffix of private DNS zones; `.internal` is reserved for private use (ICANN resolution 2024.07.29.06)."""


class Share(Enum):
    """Which workers share an identity of the cloud, and so the rights on status records, logs and requests."""

    NONE = "none"
    POOL = "pool"
    ALL = "all"

    def identity_of(self, pool: str, machine: str) -> str:
        """Return the name of a machine's identity. pool: name of its machine group.

        The machines of the control plane share one: each of them has the keys of the whole cluster.
        """
        if pool == CONTROL_PLANE:
            return CONTROL_PLANE
        return {Share.NONE: machine, Share.POOL: pool, Share.ALL: WORKERS}[self]


def machine_name(group: str, index: int) -> str:
    """Return a machine's name, for node, host and resource: stable, lower case, unique in the cluster."""
    return f"{group}-{index}"


def pool_of(machine: str) -> str:
    """Return the group in a machine's name."""
    return machine.rpartition("-")[0]


def zone_name(cluster: str) -> str:
    """Return the private DNS zone of a cluster."""
    return f"{cluster}.{ZONE_SUFFIX}"


def api_host(cluster: str) -> str:
    """Return the host name of the cluster's API in its private zone, which certificates and kubeconfigs contain."""
    return f"api.{zone_name(cluster)}"


def within(limit: int, name: str) -> str:
    """Return a name of at most `limit` characters; eight digits of a longer name's sha256 replace its end."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def volume_prefix(cluster: str) -> str:
    """Return the beginning of the names of a cluster's disks and snapshots on Google Cloud, before a hyphen and a UID.

    With that hyphen it ends in two: a check refuses clusters with disks whose names have two hyphens in a row, so no
    name of one cluster's disks begins with the prefix of another's.
    """
    return f"pv-{cluster}-"


def volume_label(cluster: str) -> tuple[str, str]:
    """Return key and value of the label of a cluster's disks and snapshots on Google Cloud.

    It is the label by which other tools know a cluster's resources there (OpenShift: kubernetes-io-cluster-ID). It does
    not begin with `mullion_`: a class can give its disks any label, so no decision rests on it.
    """
    return f"kubernetes-io-cluster-{cluster}", "owned"
