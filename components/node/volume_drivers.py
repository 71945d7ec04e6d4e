"""Storage drivers (CSI) that Mullion installs: the arguments, rights and classes of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from components.catalogue.instance_sizes import gcp_disk
from components.naming import volume_label, volume_prefix
from components.node.manifests import Manifest
from components.node.role import Role
from components.node.volume_rights import Right
from components.releases import storage_drivers
from components.spec.choices import StorageDriver

_RESERVED = ("kubernetes.io", "ebs.csi.aws.com/", "CSIVolume")
"""Beginnings of keys that the driver of EBS keeps for itself: it does not start with one (pkg/driver/validation.go of
v1.63.1)."""


@dataclass(frozen=True)
class Driver:
    """How Mullion runs one storage driver."""

    port: int
    """Port of the controller's health check in the host's network; that of the node plug-ins is a fixed number
    higher."""
    sidecars: tuple[str, ...]
    """Sidecars of the controller."""
    csi_driver: dict[str, Any]
    """Spec of its CSIDriver, as its charts have it."""
    controller: tuple[str, ...]
    """Arguments of the controller."""
    node: tuple[str, ...]
    """Arguments of the node plug-in on Linux."""
    windows: tuple[str, ...]
    """Program and arguments of the node plug-in on Windows; empty: it has none that runs as HostProcess container."""
    classes: Callable[[Role], list[Manifest]]
    """StorageClasses and VolumeSnapshotClasses."""
    program: str = ""
    """Program of the containers on Linux; empty: what the image starts."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of the node plug-ins."""
    node_rights: tuple[Right, ...] = ()
    """RBAC rights of the node plug-ins."""
    controller_rights: tuple[Right, ...] = ()
    """RBAC rights of the controller besides those of its sidecars."""
    mounts: bool = False
    """Whether the driver mounts network shares: its controller too, and in the host's network, so they outlive pods."""
    asks_metadata: bool = False
    """Whether the node plug-in on Linux asks the metadata service, which only pods in the host's network reach."""
    host_folders: tuple[tuple[str, str], ...] = ()
    """Name and path of further folders of the machine that the node plug-in on Linux uses."""
    tags: Callable[[Role], tuple[str, ...]] = lambda _: ()
    """Arguments of the controller by which volumes get the cluster's tag and the user's."""
    sidecar_arguments: Callable[[Role], Mapping[str, tuple[str, ...]]] = lambda _: {}
    """Arguments of sidecars, by name; they replace those of the same name in csi-controller.yaml."""


def has_windows(role: Role) -> bool:
    """Return whether the cluster has Windows pools."""
    return any(pool.os.is_windows for pool in role.spec.pools.values())


def _ebs_classes(role: Role) -> list[Manifest]:
    key = {"kmsKeyId": role.spec.encryption_key} if role.spec.encryption_key else {}
    parameters = {"type": "gp3", "encrypted": "true", **key}
    systems = {"ebs": "ext4", **({"ebs-windows": "ntfs"} if has_windows(role) else {})}
    classes = {name: {**parameters, _FILESYSTEM: system} for name, system in systems.items()}
    return _disk_classes("ebs", StorageDriver.EBS, classes)


def _pd_classes(role: Role) -> list[Manifest]:
    key = {"disk-encryption-kms-key": role.spec.encryption_key} if role.spec.encryption_key else {}
    types = {"pd": _BALANCED, "pd-hyperdisk": _HYPERDISK}
    linux = {gcp_disk(pool.size) for pool in role.spec.pools.values() if not pool.os.is_windows}
    classes = {name: {"type": type_, **key, _FILESYSTEM: "ext4"} for name, type_ in types.items()}
    # the driver gives --extra-labels to disks alone (pkg/parameters/parameters.go)
    label, value = volume_label(role.cluster)
    default = "pd-hyperdisk" if linux == {_HYPERDISK} else "pd"
    return _disk_classes("pd", StorageDriver.PD, classes, {"labels": f"{label}={value}"}, default)


_BALANCED, _HYPERDISK = "pd-balanced", "hyperdisk-balanced"
_FILESYSTEM = "csi.storage.k8s.io/fstype"


def _disk_classes(
    name: str,
    driver: StorageDriver,
    classes: Mapping[str, dict[str, str]],
    of_snapshots: Mapping[str, str] | None = None,
    default: str = "",
) -> list[Manifest]:
    """Return StorageClasses and a class of snapshots. classes: parameters by name.

    of_snapshots: parameters of the class of snapshots. default: name of the default class; empty: `name`.
    """
    plugin = storage_drivers.DRIVERS[driver].plugin
    made = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": each,
                "annotations": {
                    "storageclass.kubernetes.io/is-default-class": "true" if each == (default or name) else "false"
                },
            },
            "provisioner": plugin,
            "parameters": parameters,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        for each, parameters in classes.items()
    ]
    snapshots = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {
            "name": name,
            "annotations": {"snapshot.storage.kubernetes.io/is-default-class": "true"},
        },
        "driver": plugin,
        "deletionPolicy": "Delete",
        **({"parameters": dict(of_snapshots)} if of_snapshots else {}),
    }
    return [*made, snapshots]


def _ebs_tags(role: Role) -> tuple[str, ...]:
    """Return the arguments for tags, except keys that the driver refuses."""
    taken = [(key, value) for key, value in role.spec.tags.items() if "=" not in key and not key.startswith(_RESERVED)]
    return (f"--k8s-tag-cluster-id={role.cluster}", *(f"--extra-tags={key}={value}" for key, value in taken))


def _pd_labels(role: Role) -> tuple[str, ...]:
    """Return the argument for labels. A check refuses tags of the user that are no labels."""
    labels = {**role.spec.tags, **dict([volume_label(role.cluster)])}
    return (f"--extra-labels={','.join(f'{key}={value}' for key, value in sorted(labels.items()))}",)


def _pd_names(role: Role) -> dict[str, tuple[str, ...]]:
    """Return the arguments by which disks and snapshots have the cluster's prefix, and the published ones.

    A volume of a class without a file system gets ext4: without one in its PersistentVolume, kubelets do not give the
    volume to a pod's fsGroup. Source of it and of the time limits: deploy/kubernetes/base/controller/controller.yaml.
    The rights of control planes are limited to these names (components/gcp/volumes.py). 32 characters are a whole UID
    without its hyphens, so that names have at most the 63 characters that Compute Engine allows.
    """
    names = {"csi-provisioner": "volume", "csi-snapshotter": "snapshot"}
    waits = {"csi-provisioner": "250s", "csi-snapshotter": "300s", "csi-resizer": "250s"}
    of_names = {
        part: (f"--{what}-name-prefix={volume_prefix(role.cluster)}", f"--{what}-name-uuid-length=32")
        for part, what in names.items()
    }
    made = {part: (*of_names.get(part, ()), f"--timeout={wait}") for part, wait in waits.items()}
    return {**made, "csi-provisioner": (*made["csi-provisioner"], "--default-fstype=ext4")}


_BY_NODE = "--metadata-sources=kubernetes"
"""The driver reads instance, type, region and zone in its Node, because pods do not reach the metadata service
(kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/metadata/k8s.go of v1.63.1)."""

DRIVERS: dict[StorageDriver, Driver] = {
    StorageDriver.EBS: Driver(
        port=29700,
        sidecars=("csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter"),
        csi_driver={"attachRequired": True, "podInfoOnMount": False, "fsGroupPolicy": "File"},
        controller=("controller", "--endpoint=$(CSI_ENDPOINT)", "--metadata-sources=imds", "--batching=true", "--v=2"),
        # machines have one disk of their own
        node=("node", "--endpoint=$(CSI_ENDPOINT)", _BY_NODE, "--reserved-volume-attachments=1", "--v=2"),
        windows=(
            *("aws-ebs-csi-driver.exe", "node", "--endpoint=$(CSI_ENDPOINT)", _BY_NODE),
            *("--reserved-volume-attachments=1", "--windows-host-process=true", "--v=2"),
        ),
        classes=_ebs_classes,
        # without it the plug-in wants to change Nodes
        environment=(("DISABLE_TAINT_WATCHER", "true"),),
        node_rights=(("", "nodes", ("get",)),),
        tags=_ebs_tags,
    ),
    StorageDriver.PD: Driver(
        port=29702,
        sidecars=("csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter"),
        csi_driver={"attachRequired": True, "podInfoOnMount": False},
        controller=("--endpoint=$(CSI_ENDPOINT)", "--run-node-service=false", "--v=2"),
        node=(
            *("--endpoint=$(CSI_ENDPOINT)", "--run-controller-service=false"),
            *("--node-name=$(CSI_NODE_NAME)", "--v=2"),
        ),
        windows=(),
        classes=_pd_classes,
        # the image starts a script that writes settings of LVM first, for caches on local disks
        program="/gce-pd-csi-driver",
        node_rights=(("", "nodes", ("get",)),),
        asks_metadata=True,
        # by these it asks the machine's udev for a missing link to a disk (deploy/kubernetes/base/node_linux/node.yaml)
        host_folders=(
            *(("udev-rules-etc", "/etc/udev"), ("udev-rules-lib", "/lib/udev")),
            *(("udev-socket", "/run/udev"), ("sys", "/sys")),
        ),
        tags=_pd_labels,
        sidecar_arguments=_pd_names,
    ),
    StorageDriver.SMB: Driver(
        port=29701,
        sidecars=("csi-provisioner", "csi-resizer"),
        # not Ephemeral: the plug-in on each node would read every Secret of the cluster
        csi_driver={"attachRequired": False, "podInfoOnMount": True, "volumeLifecycleModes": ["Persistent"]},
        controller=("--endpoint=$(CSI_ENDPOINT)", "--v=2"),
        node=("--endpoint=$(CSI_ENDPOINT)", "--nodeid=$(CSI_NODE_NAME)", "--v=2"),
        windows=(
            *("smbplugin.exe", "--endpoint=$(CSI_ENDPOINT)", "--nodeid=$(CSI_NODE_NAME)"),
            *("--enable-windows-host-process=true", "--v=2"),
        ),
        classes=lambda _: [],
        # the provisioner passes the share's credentials to the driver
        controller_rights=(("", "secrets", ("get",)),),
        mounts=True,
    ),
}
"""Drivers by their name in the spec."""
