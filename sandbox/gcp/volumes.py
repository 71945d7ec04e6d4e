"""Persistent disks, of machines and of storage drivers, and the snapshots that these make.

Sources: Compute Engine API reference, disks.insert, disks.delete, snapshots.insert, snapshots.delete.
"""

import re

from sandbox.cloud import Request, ResourceType
from sandbox.gcp import keys, regions
from sandbox.gcp.names import AUTO_NAME, DISK, NAMED, SNAPSHOT, id_of, invalid, link, own_name, points_to
from sandbox.gcp.quotas import ssd


def _zone(request: Request) -> None:
    """Check that the zone of a disk exists."""
    zone = request.inputs.get("zone")
    if zone not in regions.zones(request.place.region):
        raise invalid("zone", zone, "Unknown zone.")


def _speed(request: Request) -> None:
    """Refuse a speed that a disk's type or size does not have ("About Google Cloud Hyperdisk": Hyperdisk Balanced)."""
    given, kind = request.inputs, str(request.inputs.get("type") or "pd-standard").rpartition("/")[2]
    iops, throughput = given.get("provisionedIops"), given.get("provisionedThroughput")
    if kind.startswith("pd-") and (iops or throughput):
        raise invalid("provisionedIops", iops or throughput, f"It cannot be set for disks of type {kind}.")
    if iops is not None and not 3000 <= iops <= min(160_000, 500 * int(given.get("size") or 100)):
        raise invalid("provisionedIops", iops, "It must be from 3000 to 160000, and at most 500 for each GiB.")
    rate = iops or 3000
    if throughput is not None and not max(140, rate / 256) <= throughput <= min(2400, rate / 4):
        raise invalid(
            "provisionedThroughput", throughput, "It must be from IOPS / 256 to IOPS / 4, and from 140 to 2400."
        )


TYPES: dict[str, ResourceType] = {
    DISK: ResourceType(
        id=id_of(DISK),
        auto_name=AUTO_NAME,
        immutable=("name", "zone", "type", "snapshot", "image", "description", "diskEncryptionKey", "project"),
        chosen=("size", "type", "project", "zone", "provisionedIops", "provisionedThroughput"),
        ranges={"size": (1, 65536)},
        patterns={**NAMED, "type": (re.compile(r"(.*/)?(pd|hyperdisk)-[a-z]+"), "a type of disks")},
        outputs={"selfLink": link(DISK), "project": "{account}"},
        unique=(own_name(DISK),),
        rules=(_zone, _speed, keys.volume, ssd),
    ),
    SNAPSHOT: ResourceType(
        id=id_of(SNAPSHOT),
        immutable=("name", "sourceDisk", "zone", "description", "storageLocations", "project"),
        chosen=("project", "zone"),
        patterns=dict(NAMED),
        outputs={"selfLink": link(SNAPSHOT), "project": "{account}"},
        references=(points_to(DISK, "sourceDisk", "dangle"),),
        unique=(own_name(SNAPSHOT),),
    ),
}
