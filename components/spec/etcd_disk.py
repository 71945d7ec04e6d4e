"""The disk that etcd has for itself."""

from enum import Enum
from typing import Annotated

from pydantic import Field

from components.spec.options import Model


class EtcdDiskType(str, Enum):
    """Type of a disk, as its cloud names it."""

    GP3 = "gp3"
    IO2 = "io2"
    PREMIUM = "Premium_LRS"
    PREMIUM_V2 = "PremiumV2_LRS"
    PD_SSD = "pd-ssd"
    HYPERDISK_BALANCED = "hyperdisk-balanced"


class EtcdDisk(Model):
    """A disk that etcd has for itself, which is deleted with its machine."""

    size_gb: Annotated[int, Field(ge=20, le=16384)] | None = None
    """Size of the disk, GiB. Default: 20; on Azure 128, because the size decides the speed of Premium_LRS."""
    type: EtcdDiskType | None = None
    """gp3, io2 (AWS), Premium_LRS, PremiumV2_LRS (Azure), pd-ssd, hyperdisk-balanced (GCP). Default: the first."""
    iops: Annotated[int, Field(ge=100, le=256000)] | None = None
    """Operations a second, for gp3, io2 and hyperdisk-balanced. Default: 3000."""
    throughput: Annotated[int, Field(ge=125, le=2400)] | None = None
    """MiB a second, for gp3 and hyperdisk-balanced. Default: 125 and 140."""
