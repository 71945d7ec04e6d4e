"""Options of etcd's snapshots: how often they are taken, how long they stay, and where their copies are."""

from typing import Annotated

from pydantic import Field

from components.spec.options import Model


class SnapshotCopy(Model):
    """A bucket of yours that gets a copy of each snapshot. Control planes cannot change or delete copies."""

    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$")]
    """Name of the bucket, without dots, which its certificate would not cover."""
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """Region of the bucket, such as eu-central-1; another one than the cluster's, or the same for a locked bucket."""

    account: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """Number of the account that owns the bucket. Default: the cluster's; copies go to a bucket of no other account."""

    @property
    def url(self) -> str:
        """URL of the bucket (Amazon S3 user guide, "Virtual hosting of general purpose buckets")."""
        domain = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return f"https://{self.bucket}.s3.{self.region}.{domain}"


def copy_folder(cluster: str) -> str:
    """Return the beginning of the names of a cluster's copies, because clusters may share a bucket."""
    return f"{cluster}/"


class Snapshots(Model):
    """Snapshots of etcd, which the control plane takes and stores."""

    every_minutes: Annotated[int, Field(ge=5, le=1440)] = 60
    """Minutes from one snapshot to the next; every change of the control plane takes one more."""
    keep_days: Annotated[int, Field(ge=1, le=365)] = 7
    """Days after which a snapshot is deleted; the newest 24 always stay, and those that the next two keep."""
    keep_daily: Annotated[int, Field(ge=0, le=365)] = 0
    """Days for which the last snapshot of each day (UTC) stays."""
    keep_weekly: Annotated[int, Field(ge=0, le=260)] = 0
    """Weeks for which the last snapshot of each week (Monday to Sunday, UTC) stays."""
    copy_to: SnapshotCopy | None = None
    """Bucket of yours on AWS that gets a copy of each snapshot. Default: none."""
