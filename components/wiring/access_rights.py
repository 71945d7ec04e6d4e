"""What machines may do with the cluster's stores and secrets, in every cloud: the one table of rights."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.rollout.signed_documents import EPOCH, MEMBERS, POINTER
from components.topology.firewall import SecurityGroup


@dataclass(frozen=True)
class Rights:
    """Rights of machines, as beginnings of names in the bundle store ({own} is how their records begin there) and
    names of secrets.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read_secrets: tuple[str, ...] = ()
    """Secrets that are read."""
    written_secrets: tuple[str, ...] = ()
    """Secrets that are written."""


EVERY = Rights(
    read=("bundles/", "ca.crt", EPOCH, "requests/{own}"),
    written=("status/{own}", "logs/{own}"),
    read_secrets=("join",),
)
"""Those of every machine."""

CONTROL_PLANE = Rights(
    read=(POINTER, MEMBERS, "status/"),
    written=(EPOCH,),
    read_secrets=("pki", "desired-state"),
    written_secrets=("join",),
)
"""Those that the control plane has besides; and all of the snapshot store (the marker that decides who inits, etcd
snapshots with their retention), and to see machines: whether a member's one is really gone."""


@dataclass(frozen=True)
class Grant:
    """A right that is a resource of its own."""

    name: str
    """Of its resource, after the cluster's and the group's."""
    role: str
    """read (some objects), records (write some), snapshots (do all with objects), secret (read one), join (write that
    one), machines (see them)."""
    target: str
    """bundles, snapshots, or the name of a secret; empty: whatever the cluster's machines are in."""
    beginnings: tuple[str, ...] = ()
    """Of the names of objects that it is limited to."""


def grants(group: SecurityGroup) -> Iterator[Grant]:
    """All rights of a group, where its machines are not told apart: each has those of its group's records."""
    more = CONTROL_PLANE if group is SecurityGroup.CONTROL_PLANE else Rights()
    own = f"{group.value}:"
    for name, role, objects in (
        ("read", "read", (*EVERY.read, *more.read)),
        ("written", "records", (*EVERY.written, *more.written)),
    ):
        yield Grant(name, role, "bundles", tuple(each.replace("{own}", own) for each in objects))
    yield from (Grant(f"{key}-read", "secret", key) for key in (*EVERY.read_secrets, *more.read_secrets))
    yield from (Grant(f"{key}-write", "join", key) for key in more.written_secrets)
    if group is SecurityGroup.CONTROL_PLANE:
        yield Grant("snapshots", "snapshots", "snapshots")
        yield Grant("machines", "machines", "")
