"""RBAC rights of storage drivers: each sidecar's own, and no more.

Sources: the files rbac*.yaml of kubernetes-csi/external-provisioner v6.0.0, external-attacher v4.10.0, external-resizer
v2.0.0 and external-snapshotter v8.4.0.
"""

from collections.abc import Iterable
from typing import Any

_READ = ("get", "list", "watch")
_EVENTS = ("", "events", ("list", "watch", "create", "update", "patch"))

Right = tuple[str, str, tuple[str, ...]]
"""API group, resource, verbs."""

_SNAPSHOTS = "snapshot.storage.k8s.io"

SIDECARS: dict[str, tuple[Right, ...]] = {
    "csi-provisioner": (
        _EVENTS,
        ("", "nodes", _READ),
        ("", "persistentvolumeclaims", (*_READ, "update")),
        ("", "persistentvolumes", (*_READ, "create", "patch", "delete")),
        ("storage.k8s.io", "csinodes", _READ),
        ("storage.k8s.io", "storageclasses", _READ),
        ("storage.k8s.io", "volumeattachments", _READ),
        ("storage.k8s.io", "volumeattributesclasses", _READ),
    ),
    "csi-attacher": (
        ("", "persistentvolumes", (*_READ, "patch")),
        ("storage.k8s.io", "csinodes", _READ),
        ("storage.k8s.io", "volumeattachments", (*_READ, "patch")),
        ("storage.k8s.io", "volumeattachments/status", ("patch",)),
    ),
    "csi-resizer": (
        _EVENTS,
        ("", "persistentvolumeclaims", _READ),
        ("", "persistentvolumeclaims/status", ("patch",)),
        ("", "persistentvolumes", (*_READ, "patch")),
        ("", "pods", _READ),
        ("storage.k8s.io", "volumeattributesclasses", _READ),
    ),
    "csi-snapshotter": (
        _EVENTS,
        (_SNAPSHOTS, "volumesnapshotclasses", _READ),
        (_SNAPSHOTS, "volumesnapshotcontents", (*_READ, "update", "patch")),
        (_SNAPSHOTS, "volumesnapshotcontents/status", ("update", "patch")),
        # the provisioner's, which restores snapshots only beside this sidecar
        (_SNAPSHOTS, "volumesnapshots", ("get", "list")),
    ),
}

_LEASES = {
    "csi-provisioner": "{}",
    "csi-attacher": "external-attacher-leader-{}",
    "csi-resizer": "external-resizer-{}",
    "csi-snapshotter": "external-snapshotter-leader-{}",
}
"""Name of a sidecar's lease; {} stands for the plug-in's name with dashes for dots (cmd/*/main.go of each)."""


def rules(sidecars: Iterable[str], more: Iterable[Right] = ()) -> list[dict[str, Any]]:
    """Return the rules of a ClusterRole for these sidecars: one for each resource, with all its verbs."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for group, resource, allowed in (*(each for name in sidecars for each in SIDECARS[name]), *more):
        known = verbs.setdefault((group, resource), [])
        known += [each for each in allowed if each not in known]
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": allowed}
        for (group, resource), allowed in sorted(verbs.items())
    ]


def leases(sidecars: Iterable[str], plugin: str) -> list[str]:
    """Return the names of the leases by which the pods of a controller choose the one that works."""
    return [_LEASES[each].format(plugin.replace(".", "-")) for each in sidecars]
