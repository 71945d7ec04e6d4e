"""Rights of control planes for the driver of persistent disks: on disks and snapshots of their own cluster alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from components.naming import volume_prefix
from components.plan import ClusterPlan
from components.spec.choices import StorageDriver


def _compute(collection: str, *verbs: str) -> tuple[str, ...]:
    return tuple(f"compute.{collection}.{verb}" for verb in verbs)


ROLES: Mapping[str, tuple[str, ...]] = {
    "volumes": (
        *_compute("disks", "create", "createSnapshot", "delete", "get", "resize", "setLabels", "update", "use"),
        *_compute("disks", "useReadOnly"),
        *_compute("instances", "attachDisk", "detachDisk"),
        *_compute("snapshots", "create", "delete", "get", "setLabels", "useReadOnly"),
    ),
    "volume_places": (
        *("compute.disks.list", "compute.globalOperations.get", "compute.zoneOperations.get", "compute.zones.list"),
    ),
    "attach": ("iam.serviceAccounts.actAs",),
}
"""Permissions of the custom roles. volumes: under `condition`. volume_places: what names no disk; the role `machines`
of control planes already has compute.instances.get. attach: on the service accounts of the Linux workers.

Source: what the driver's controller calls (kubernetes-sigs/gcp-compute-persistent-disk-csi-driver v1.17.15,
pkg/gce-cloud-provider/compute/gce-compute.go), and the permissions of each method in the REST reference of Compute
Engine v1: Disks insert, get, list, delete, resize and update (growth of a Hyperdisk); Snapshots insert, get and delete;
Instances get, attachDisk and detachDisk; Zones list; ZoneOperations and GlobalOperations get. Left out: regional
disks, images, changes of labels by themselves, tags of Resource Manager, and roles/iam.serviceAccountUser on the whole
project, which the driver's own script gives: Compute Engine asks for iam.serviceAccounts.actAs when it attaches a
disk to a machine that has an account (openshift/cluster-storage-operator#468, SERVICE_ACCOUNT_ACCESS_DENIED), so the
accounts decide to which of these machines the driver attaches disks. No source says that of detaching."""


def is_used(plan: ClusterPlan) -> bool:
    """Return whether the cluster has the driver of persistent disks."""
    return StorageDriver.PD in plan.spec.csi


def condition(cluster: str, project: str, zones: Iterable[str]) -> dict[str, Any]:
    """Return the IAM condition that is true for a cluster's disks, snapshots and machines, by their names.

    It is also true for other machines whose names begin with the cluster's and a hyphen: those of a cluster NAME-2, and
    the user's. Their accounts keep disks from being attached to them; from them the driver could detach disks.
    Disks of machines have other names than those that the driver makes. Source: IAM, "Resource attributes" (formats of
    resource.name: disks, instances, snapshots). A condition has at most 12 logical operators, enough for six zones.
    """
    disks = f"disks/{volume_prefix(cluster)}-"
    names = [
        *(f"zones/{zone}/{what}" for zone in zones for what in (disks, f"instances/{cluster}-")),
        f"global/snapshots/{volume_prefix(cluster)}-",
    ]
    terms = (f'resource.name.startsWith("projects/{project}/{name}")' for name in names)
    return {"title": "volumes", "expression": " || ".join(terms)}


def attached(plan: ClusterPlan) -> list[str]:
    """Return the identities of the machines that get disks: Linux workers, on which the node plug-in runs."""
    pools = (pool for pool in plan.pools if not pool.os.is_windows)
    return sorted({pool.identity_of(machine) for pool in pools for machine in pool.machines})
