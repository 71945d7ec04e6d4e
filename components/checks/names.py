"""Names of pools and machines."""

import re
from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error
from components.naming import CONTROL_PLANE, MAX_NODE_NAME, machine_name

_LABEL = re.compile(r"^[a-z]([a-z0-9-]*[a-z0-9])?$")

RESERVED = {"localhost": "every machine has this name", "kubernetes": "the API's Service has this name"}
"""Names that no pool can have, and why."""


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
    """Find machines of two pools with the same name, ignoring case as DNS and Windows do."""
    taken: dict[str, str] = {}
    for group in subject.groups:
        doubles = [name for name in group.machines if name.lower() in taken]
        if doubles and group.name != CONTROL_PLANE:
            yield at(*group.path, machine=doubles[0], other=taken[doubles[0].lower()])
        taken |= {name.lower(): group.name for name in group.machines}


def _machine_like(subject: Subject) -> Iterator[Finding]:
    """Find pools with the name of another pool's machine: tags, logs and addresses would mix them up."""
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
        "{value!r} cannot begin machine names: these have lower-case letters, digits and hyphens, first a letter",
        "rename the pool, for example to {fixed}",
        "SRV-12",
    ),
    error(
        "machine-name-too-long",
        "pools.<pool>.count",
        _length,
        "the machine name {longest} has {length} characters; Windows takes at most {limit} (NetBIOS)",
        "shorten the pool's name to at most {room} characters",
        "SRV-12",
    ),
    error(
        "pool-named-control-plane",
        "pools.<key>",
        _control_plane,
        "the name {value} is reserved for the control plane",
        "rename the pool",
        "SRV-12",
    ),
    error(
        "machine-name-clash",
        "pools.*.count control_plane.count",
        _clash,
        "this pool and {other} would both have a machine {machine}",
        "rename one of the two pools",
        "SRV-12",
    ),
    error(
        "pool-named-like-machine",
        "pools.*.count control_plane.count",
        _machine_like,
        "a machine of {other} also has the name {value}",
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
