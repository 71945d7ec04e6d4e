"""What machines may do with the cluster's stores and secrets, in every cloud: the one table of rights."""

from dataclasses import dataclass

from components.desired_state import EPOCH, MEMBERS, POINTER
from components.firewall import Group


@dataclass(frozen=True)
class Rights:
    """Rights of machines, as beginnings of names in the bundle store ({own} is how their records begin there) and
    names of secrets.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    """Secrets that are read."""
    told: tuple[str, ...] = ()
    """Secrets that are written."""


EVERY = Rights(
    read=("bundles/", "ca.crt", EPOCH, "requests/{own}"),
    written=("status/{own}", "logs/{own}"),
    secrets=("join",),
)
"""Those of every machine."""

CONTROL_PLANE = Rights(
    read=(POINTER, MEMBERS, "status/"),
    written=(EPOCH,),
    secrets=("pki", "desired-state"),
    told=("join",),
)
"""Those that the control plane has besides; and all of the snapshot store (the marker that decides who inits, etcd
snapshots with their retention), and to see machines: whether a member's one is really gone."""


def of(group: Group) -> Rights:
    """All rights of a group, where its machines are not told apart: each has those of its group's records."""
    more = CONTROL_PLANE if group is Group.CONTROL_PLANE else Rights()
    own = f"{group.value}:"
    return Rights(
        tuple(each.replace("{own}", own) for each in (*EVERY.read, *more.read)),
        tuple(each.replace("{own}", own) for each in (*EVERY.written, *more.written)),
        (*EVERY.secrets, *more.secrets),
        more.told,
    )
