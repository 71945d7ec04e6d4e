"""The disk that etcd has for itself: its type and its speed."""

from collections.abc import Iterator

from components.catalogue import etcd_disks
from components.checks.check import Finding, Subject, at, error
from components.spec.etcd_disk import EtcdDisk

_PATH = ("control_plane", "etcd_disk")
_UNITS = {"iops": "operations a second", "throughput": "MiB a second"}


def _types(subject: Subject) -> list[str]:
    plane = subject.spec.control_plane
    return [kind.value for kind in etcd_disks.types(subject.spec.cloud, plane.size)]


def _type(subject: Subject) -> Iterator[Finding]:
    plane = subject.spec.control_plane
    disk, fitting = plane.etcd_disk, _types(subject)
    if disk and disk.type and disk.type.value not in fitting:
        yield at(*_PATH, "type", value=disk.type.value, size=plane.size, fitting=" or ".join(fitting) or "no type")


def _planned(subject: Subject) -> tuple[EtcdDisk, etcd_disks.Disk, etcd_disks.Limits] | None:
    """Return the option, the disk and the limits of its type; None without the option."""
    plane = subject.spec.control_plane
    if plane.etcd_disk is None:
        return None
    disk = etcd_disks.planned(subject.spec.cloud, plane.size, plane.etcd_disk)
    return plane.etcd_disk, disk, etcd_disks.LIMITS[disk.type]


def _fixed_speed(subject: Subject) -> Iterator[Finding]:
    for option, disk, limits in filter(None, (_planned(subject),)):
        for name, unit in _UNITS.items():
            if getattr(option, name) is not None and getattr(limits, name) is None:
                yield at(*_PATH, name, type=disk.type.value, unit=unit)


def _range(subject: Subject) -> Iterator[Finding]:
    """Find speeds outside the limits, or too high for the disk's size or its operations."""
    for _, disk, limits in filter(None, (_planned(subject),)):
        iops = disk.iops or etcd_disks.LEAST_IOPS
        low, high = limits.throughput_an_io
        allowed = {
            "iops": limits.iops and (limits.iops[0], min(limits.iops[1], limits.iops_a_gib * disk.size_gb)),
            "throughput": limits.throughput
            and (max(limits.throughput[0], int(low * iops)), min(limits.throughput[1], int(high * iops))),
        }
        for name, ends in allowed.items():
            value = getattr(disk, name)
            if value is not None and ends and not ends[0] <= value <= ends[1]:
                texts = {"type": disk.type.value, "gib": disk.size_gb, "iops": iops, "unit": _UNITS[name]}
                yield at(*_PATH, name, value=value, least=ends[0], most=ends[1], **texts)


CHECKS = (
    error(
        "etcd-disk-type",
        "control_plane.etcd_disk control_plane.size cloud",
        _type,
        "{size} cannot have a disk of type {value}",
        "write {fitting}, or remove type",
    ),
    error(
        "etcd-disk-fixed-speed",
        "control_plane.etcd_disk control_plane.size cloud",
        _fixed_speed,
        "the {unit} of {type} cannot be chosen: the cloud sets them, by size for some types",
        "remove it; a larger size_gb or another type is faster",
    ),
    error(
        "etcd-disk-speed",
        "control_plane.etcd_disk control_plane.size cloud",
        _range,
        "{value} {unit} are outside the limits of {type} with {gib} GiB and {iops} operations a second",
        "write {least} to {most}, or change size_gb or iops",
    ),
)
