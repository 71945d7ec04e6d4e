"""How many nodes a control plane carries, by the size of its machines."""

from dataclasses import dataclass

from components.catalogue.instance_sizes import GIB, TABLES, Size, is_burstable


@dataclass(frozen=True)
class Row:
    """What a control plane of up to `nodes` workers needs.

    vcpu, gib: of each machine. iops, mb: operations and MB a second of etcd's disk. own_disk: whether etcd should have
    a disk of its own.
    """

    nodes: int
    vcpu: int
    gib: float
    iops: int
    mb: float
    own_disk: bool


ROWS = (
    Row(10, 2, 7.5, 3600, 56.25, own_disk=False),
    Row(100, 4, 15, 6000, 93.75, own_disk=False),
    Row(250, 8, 30, 6000, 93.75, own_disk=True),
    Row(500, 16, 60, 8000, 125, own_disk=True),
    Row(1000, 32, 120, 8000, 125, own_disk=True),
)
"""vCPU and GiB: what Kubernetes' own scripts gave a control plane, n1-standard with 3.75 GiB for each vCPU (kubernetes,
cluster/gce/config-common.sh, get-master-size). For more than 1,000 nodes they are those of 1,000.

iops and mb: of the machines with which etcd's makers show clusters of 50, 250 and 1,000 nodes, the next larger cluster
for counts between them (etcd.io, "Hardware recommendations", "Example hardware configurations").

own_disk: those scripts gave etcd a disk (get-master-disk-size) at every size. Mullion's root disks have 3,000
operations a second (gp3), fewer on Azure, and images and audit logs take some of them, so beyond 100 nodes, twice the
makers' small cluster, little is left of them. "Considerations for large clusters" (kubernetes.io) names no sizes.
"""


def row(nodes: int) -> Row:
    """Return the row of a number of workers."""
    return next((each for each in ROWS if nodes <= each.nodes), ROWS[-1])


def fits(size: Size, needed: Row) -> bool:
    """Return whether machines of this size have the vCPU and memory of a row."""
    return size.vcpu >= needed.vcpu and size.memory >= needed.gib * GIB


def smallest(cloud: str, like: str, needed: Row) -> str:
    """Return an instance type of the row's size: of the family of `like` if it has one, else the cloud's smallest."""
    fitting = [
        each
        for each in TABLES[cloud].values()
        if each.architecture == "amd64" and fits(each, needed) and not is_burstable(each.name)
    ]
    return min(fitting, key=lambda each: (each.vcpu, _family(each.name) != _family(like), each.memory)).name


def _family(name: str) -> str:
    """Return the type's name without its size: m6i, n2-standard, Standard_Ds_v5."""
    if "." in name:
        return name.partition(".")[0]
    if name.startswith("Standard_"):
        return "".join(letter for letter in name.partition("_v")[0] if not letter.isdigit()) + name.partition("_v")[2]
    return name.rpartition("-")[0]
