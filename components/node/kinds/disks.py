"""The kind of a disk that one folder has for itself."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, PATH

DISKS: dict[str, Kind] = {
    "own-disk": Kind(
        "The machine's further disk is mounted on the folder, now and at boot, and the service does not start without"
        " it. A machine that joined without such a disk keeps the folder on the root disk.",
        {
            "disk": Field(NAME, "The cloud's name of the disk: device name (AWS), lun (Azure), device name (GCP)."),
            "path": Field(PATH, "The folder."),
            "service": Field(NAME, "Service that must not start while the disk is not mounted."),
            "joined": Field(PATH, "File that exists once the machine has joined the cluster."),
        },
        compares="The UUID in the mount's unit with the file system that is mounted; the units. Without a unit, the"
        " file joined.",
        sets="Finds the disk (304). Refuses one with a file system, partition table or other data (305), unless the"
        " mount's unit names its UUID. Writes the unit with a new UUID, then mkfs.ext4. Puts a file `member` into the"
        " folder below, which stops etcd, mounts the disk, removes lost+found, writes the service's drop-in. If the"
        " machine has joined, starts the service.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=("linux",),
        image=False,
    ),
}
