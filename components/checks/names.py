"""Names of pools and machines."""

import re
from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error
from components.naming import CONTROL_PLANE, MAX_NODE_NAME, machine_name

_LABEL = re.compile(r"^[a-z]([a-z0-9-]*[a-z0-9])?$")

RESERVED = {"localhost": "every machine calls itself so", "kubernetes": "the API service has this name"}
"""Pool names whose machines would be hard to tell from something else."""


def _form(subject: Subject) -> Iterator[Finding]:
    for name in subject.spec.pools:
        if not _LABEL.fullmatch(name):
            fixed = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-") or "web"
            yield at("pools", name, value=name, fixed=fixed)


def _length(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        longest = machine_name(group.name, max(group.count - 1, 0))
        if len(longest) > MAX_NODE_NAME:
            room = MAX_NODE_NAME - (len(longest) - len(group.name))
            yield at(*group.path, longest=longest, length=len(longest), limit=MAX_NODE_NAME, room=room)


def _control_plane(subject: Subject) -> Iterator[Finding]:
    if CONTROL_PLANE in subject.spec.pools:
        yield at("pools", CONTROL_PLANE, value=CONTROL_PLANE)


def _clash(subject: Subject) -> Iterator[Finding]:
    """Two machines of one name, as DNS and Windows compare names: without regard to case."""
    taken: dict[str, str] = {}
    for group in subject.groups:
        mine = [name for name in group.machines if name.lower() in taken]
        if mine and group.name != CONTROL_PLANE:
            yield at(*group.path, machine=mine[0], other=taken[mine[0].lower()])
        taken |= {name.lower(): group.name for name in group.machines}


def _machine_like(subject: Subject) -> Iterator[Finding]:
    """A pool called like a machine of another pool reads as that machine in tags, logs and addresses."""
    machines = {machine: group.name for group in subject.groups for machine in group.machines}
    for group in subject.workers:
        if group.name in machines:
            yield at(*group.path, value=group.name, other=machines[group.name])


def _reserved(subject: Subject) -> Iterator[Finding]:
    for name in subject.spec.pools:
        if name in RESERVED:
            yield at("pools", name, value=name, why=RESERVED[name])


CHECKS = (
    error(
        "pool-name-form",
        "pools.<key>",
        _form,
        "{value!r} cannot begin a machine name: Windows and Kubernetes take lower-case letters, digits and hyphens,"
        " starting with a letter",
        "rename the pool, for instance to {fixed}",
        "SRV-12",
    ),
    error(
        "machine-name-too-long",
        "pools.<pool>.count",
        _length,
        "machine name {longest} has {length} characters; a Windows computer name has at most {limit} (NetBIOS)",
        "shorten the pool's name to {room} characters",
        "SRV-12",
    ),
    error(
        "pool-named-control-plane",
        "pools.<key>",
        _control_plane,
        "{value} is the name of the control-plane machines",
        "rename the pool",
        "SRV-12",
    ),
    error(
        "machine-name-clash",
        "pools.*.count control_plane.count",
        _clash,
        "machine {machine} would exist in this pool and in {other}",
        "rename one of the two pools",
        "SRV-12",
    ),
    error(
        "pool-named-like-machine",
        "pools.*.count control_plane.count",
        _machine_like,
        "{value} is also the name of a machine of {other}",
        "rename the pool",
        "SRV-12",
    ),
    error(
        "pool-name-reserved",
        "pools.<key>",
        _reserved,
        "{value} cannot name a pool: {why}",
        "rename the pool",
        "SRV-12",
    ),
)
