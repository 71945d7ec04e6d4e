"""Persistent disks and their snapshots, which storage drivers make.

Sources: Compute Engine API reference, disks.insert, disks.delete, snapshots.insert, snapshots.delete.
"""

import re

from sandbox.cloud import Request, ResourceType
from sandbox.gcp import regions
from sandbox.gcp.names import DISK, NAMED, SNAPSHOT, id_of, invalid, link, own_name, points_to


def _zone(request: Request) -> None:
    """Check that the zone of a disk exists."""
    zone = request.inputs.get("zone")
    if zone not in regions.zones(request.place.region):
        raise invalid("zone", zone, "Unknown zone.")


TYPES: dict[str, ResourceType] = {
    DISK: ResourceType(
        id=id_of(DISK),
        immutable=("name", "zone", "type", "snapshot", "image", "description", "diskEncryptionKey", "project"),
        chosen=("size", "type", "project", "zone"),
        ranges={"size": (1, 65536)},
        patterns={**NAMED, "type": (re.compile(r"(.*/)?(pd|hyperdisk)-[a-z]+"), "a type of disks")},
        outputs={"selfLink": link(DISK), "project": "{account}"},
        unique=(own_name(DISK),),
        rules=(_zone,),
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
