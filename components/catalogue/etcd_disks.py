"""Disks that etcd can have for itself: types by cloud, their limits, and the disk that an option asks for."""

from dataclasses import dataclass

from components.spec.choices import Cloud
from components.spec.etcd_disk import EtcdDisk, EtcdDiskType

NAME = {"aws": "/dev/sdf", "azure": "0", "gcp": "etcd"}
"""By cloud: name by which a machine finds its disk: device name of the mapping, lun, device name. AWS recommends
/dev/sd[f-p] for further volumes (EC2 user guide, "Device names for volumes")."""

LEAST_IOPS = 3000
"""Operations a second that gp3 and hyperdisk-balanced have without a choice; io2, which has none, gets as many."""

SIZE_GB, AZURE_SIZE_GB = 20, 128
"""Default sizes, GiB. 20: what Kubernetes' own scripts gave etcd for up to 1,000 nodes (kubernetes,
cluster/gce/config-common.sh, get-master-disk-size). 128: the smallest Premium_LRS (P10) with the 500 operations a
second that etcd asks for under load (etcd.io, "Hardware recommendations"; "Azure managed disk types")."""

_PD_SSD = frozenset(
    ("e2", "n1", "n2", "n2d", "c2", "c2d", "c3", "c3d", "t2d", "t2a", "m1", "m2", "m3", "a2", "g2", "z3"),
)
_HYPERDISK = frozenset(("c3", "c3d", "c4", "c4a", "c4d", "h3", "h4d", "m1", "m2", "m3", "n4", "n4a", "n4d", "z3"))
"""GCP: series that pd-ssd and hyperdisk-balanced attach to (Compute Engine, "Choose a disk type": machine series
support). custom-CPUS-MEMORY is of the series n1."""


@dataclass(frozen=True)
class Limits:
    """Limits of a type. iops, throughput: least and most; None: they cannot be chosen.

    iops_a_gib: most operations a second for each GiB. throughput_an_io: least and most MiB/s for each operation.
    """

    cloud: Cloud
    iops: tuple[int, int] | None = None
    throughput: tuple[int, int] | None = None
    iops_a_gib: int = 0
    throughput_an_io: tuple[float, float] = (0, 0)


LIMITS: dict[EtcdDiskType, Limits] = {
    # EBS user guide, "General Purpose SSD volumes", gp3
    EtcdDiskType.GP3: Limits(Cloud.AWS, (3000, 80_000), (125, 2000), 500, (0, 0.25)),
    # EBS user guide, "Provisioned IOPS SSD volumes", io2 Block Express
    EtcdDiskType.IO2: Limits(Cloud.AWS, (100, 256_000), None, 1000),
    # REST reference, DataDisk: diskIOPSReadWrite and diskMBpsReadWrite are set by Azure for disks made with a machine
    EtcdDiskType.PREMIUM: Limits(Cloud.AZURE),
    EtcdDiskType.PREMIUM_V2: Limits(Cloud.AZURE),
    EtcdDiskType.PD_SSD: Limits(Cloud.GCP),
    # Compute Engine, "About Google Cloud Hyperdisk": Hyperdisk Balanced
    EtcdDiskType.HYPERDISK_BALANCED: Limits(Cloud.GCP, (3000, 160_000), (140, 2400), 500, (1 / 256, 0.25)),
}
"""Limits by type. The first type of a cloud is its default, on GCP the first that the machine's series takes."""


@dataclass(frozen=True)
class Disk:
    """A planned disk. iops, throughput (MiB/s): None: the type's own."""

    size_gb: int
    type: EtcdDiskType
    iops: int | None = None
    throughput: int | None = None


def attaches(kind: EtcdDiskType, size: str) -> bool:
    """Return whether machines of an instance type can have a disk of this type.

    On GCP the series decides; one that is newer than these lists takes Hyperdisk alone, as all new ones do.
    """
    if LIMITS[kind].cloud is not Cloud.GCP:
        return True
    series = size.split("-", maxsplit=1)[0].replace("custom", "n1")
    if kind is EtcdDiskType.PD_SSD:
        return series in _PD_SSD
    return series in _HYPERDISK or series not in _PD_SSD


def types(cloud: Cloud, size: str) -> list[EtcdDiskType]:
    """Return the types that machines of an instance type can have, the default first."""
    return [kind for kind, limits in LIMITS.items() if limits.cloud is cloud and attaches(kind, size)]


def planned(cloud: Cloud, size: str, asked: EtcdDisk) -> Disk:
    """Return the disk that an option asks for. size: instance type of the machine."""
    kind = asked.type or next(iter(types(cloud, size)), EtcdDiskType.PD_SSD)
    default = AZURE_SIZE_GB if cloud is Cloud.AZURE else SIZE_GB
    iops = LEAST_IOPS if kind is EtcdDiskType.IO2 and asked.iops is None else asked.iops
    return Disk(asked.size_gb or default, kind, iops, asked.throughput)
