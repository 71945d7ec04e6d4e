"""Snapshots of etcd: how many are kept, and the bucket of their copies."""

from collections.abc import Iterator

from components.catalogue import regions
from components.checks.check import Finding, Subject, at, error
from components.spec.models import Cloud, Egress

SNAPSHOTS_MOST = 500
"""Maximum of snapshots that are kept by time: half of what one list request returns (S3 and Google Cloud Storage: 1,000
objects, the oldest first). The other half is for snapshots at changes of the control plane. If the list did not reach
the newest snapshot, the agent would take another one at each look."""


def _many_snapshots(subject: Subject) -> Iterator[Finding]:
    chosen = subject.spec.snapshots
    count = chosen.keep_days * 1440 // chosen.every_minutes + chosen.keep_daily + chosen.keep_weekly
    if count > SNAPSHOTS_MOST:
        yield at("snapshots", count=count, most=SNAPSHOTS_MOST)


def _copy_elsewhere(subject: Subject) -> Iterator[Finding]:
    if subject.spec.snapshots.copy_to and subject.spec.cloud is not Cloud.AWS:
        yield at("snapshots", "copy_to")


def _copy_apart(subject: Subject) -> Iterator[Finding]:
    copied, here = subject.spec.snapshots.copy_to, subject.region
    known = copied and here and subject.spec.cloud is Cloud.AWS
    if copied and known and regions.partition(copied.region) != regions.partition(here):
        yield at("snapshots", "copy_to", "region", value=copied.region, region=here)


def _copy_without_way(subject: Subject) -> Iterator[Finding]:
    """Find a network from which machines reach the buckets of their own account and region alone, by an endpoint."""
    spec = subject.spec
    if spec.snapshots.copy_to and spec.cloud is Cloud.AWS and spec.network.egress is Egress.NONE:
        yield at("snapshots", "copy_to")


CHECKS = (
    error(
        "snapshots-too-many",
        "snapshots",
        _many_snapshots,
        "{count} snapshots of etcd would be kept, but the agent lists at most {most}",
        "raise every_minutes, or lower keep_days, keep_daily or keep_weekly",
    ),
    error(
        "not-built-snapshot-copy",
        "snapshots.copy_to cloud",
        _copy_elsewhere,
        "not built yet: copies of snapshots on this cloud; AWS has them",
        "remove copy_to, and copy the snapshots by a job of yours (docs/snapshot-copies.md)",
    ),
    error(
        "snapshot-copy-apart",
        "snapshots.copy_to.region region cloud",
        _copy_apart,
        "{value} is in another partition of AWS than {region}, and a role has rights in its own partition alone",
        "write a bucket in a region of the same partition",
    ),
    error(
        "snapshot-copy-no-way",
        "snapshots.copy_to network.egress cloud",
        _copy_without_way,
        "egress: none lets machines reach buckets of their own account and region alone",
        "write egress: nat, or remove copy_to, and copy the snapshots by a job of yours (docs/snapshot-copies.md)",
    ),
)
