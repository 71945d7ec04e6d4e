"""Rights of machines on the cluster's stores and secrets: one table for every cloud."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.plan import ClusterPlan, MachineGroup
from components.rollout.signed_documents import EPOCH, FOUNDED, MEMBERS, POINTER


@dataclass(frozen=True)
class Rights:
    """Rights of machines on the bundle store and the secrets.

    Objects are given by prefix of their names; {own} stands for the prefix of a machine's own records.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read_secrets: tuple[str, ...] = ()
    written_secrets: tuple[str, ...] = ()


EVERY = Rights(
    read=("bundles/", "ca.crt", EPOCH, "requests/{own}"),
    written=("status/{own}", "logs/{own}", "join/{own}"),
    read_secrets=("join",),
)
"""Rights of every machine."""

CONTROL_PLANE = Rights(
    read=(POINTER, MEMBERS, FOUNDED, "status/", "join/"),
    written=(EPOCH, FOUNDED),
    read_secrets=("pki", "desired-state"),
    written_secrets=("join",),
)
"""Further rights of the control plane. It also has all rights on objects of the snapshot store (the founding log, etcd
snapshots and their retention, audit logs, the list of revoked machines), and may list machines, to learn that an etcd
member's machine is gone."""


@dataclass(frozen=True)
class Grant:
    """A right as a resource: a role on a target."""

    name: str
    """Suffix of the resource's name, after the cluster's and the group's."""
    role: str
    """read (objects), records (write objects), snapshots (read, write, delete and list objects), secret (read it), join
    (write it), machines (list them)."""
    target: str
    """bundles, snapshots, or the name of a secret; empty: the project or resource group of the cluster."""
    prefixes: tuple[str, ...] = ()
    """Names of objects that the right is limited to; empty: all."""


def identities(plan: ClusterPlan) -> dict[str, MachineGroup]:
    """Return the names of the identities of all planned machines (MachineGroup.identity_of), with their group."""
    return {group.identity_of(machine): group for group in plan.machine_groups for machine in group.machines}


def grants(identity: str, *, control_plane: bool = False, requests: str | None = None) -> Iterator[Grant]:
    """Yield all rights of an identity, for clouds whose permissions name an identity, not a machine.

    Names of its machines' records begin with its name and a colon. Where machines share an identity, each may write the
    records of all of them. requests: prefix, below `requests/`, of the requests for logs that it may read; default: its
    own.
    """
    more = CONTROL_PLANE if control_plane else Rights()
    own = f"{identity}:"
    for name, role, prefixes, mine in (
        ("read", "read", (*EVERY.read, *more.read), requests or own),
        ("written", "records", (*EVERY.written, *more.written), own),
    ):
        yield Grant(name, role, "bundles", tuple(prefix.replace("{own}", mine) for prefix in prefixes))
    yield from (Grant(f"{key}-read", "secret", key) for key in (*EVERY.read_secrets, *more.read_secrets))
    yield from (Grant(f"{key}-write", "join", key) for key in more.written_secrets)
    if control_plane:
        yield Grant("snapshots", "snapshots", "snapshots")
        yield Grant("machines", "machines", "")
