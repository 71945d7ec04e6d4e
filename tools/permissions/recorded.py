"""Which permissions the stacks of `tools/golden/cases.py` need, why, and with which options."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from sandbox import clouds
from sandbox.permissions import CALL, READ, Table, Use, calls, uses
from tools.golden import cases

OPTIONS = {
    "prod": "`control_plane.count: 3`",
    "key": "`encryption_key`",
    "etcd-disk": "`control_plane.etcd_disk`",
    "public": "`network.egress: public`",
    "routed": "`network.mode: l2bridge`",
    "session": "`access: session`",
    "spot": "`pools.*.spot`",
    "existing": "`network.existing`",
    "closed": "`network.egress: none`",
    "closed-existing": "`network.egress: none` in `network.existing`",
    "bastion": "`network.existing.bastion`",
    "ingress": "`ingress.load_balancers`",
    "pods": "`pod_identity`",
    "many": "`ingress.node_ports`, `api.access: public`, `images`, `csi`",
}
"""What sets a case apart, by the end of its name; the other cases are stacks of this repository."""
_OF_DEV = ("ingress",)
"""Cases that change the stack `dev`; the others of OPTIONS change `prod`, and `many` has several options."""


@dataclass(frozen=True)
class Recorded:
    """The permissions of one cloud. cases: by use, the cases that have it; empty for functions and commands."""

    table: Table
    cases: Mapping[Use, frozenset[str]]

    @property
    def permissions(self) -> set[str]:
        return {use.permission for use in self.cases}

    @property
    def reading(self) -> set[str]:
        """Return what reading resources and calling functions needs."""
        return {use.permission for use in self.cases if use.operation in (READ, CALL)}


def table(cloud: str) -> Table:
    """Return a cloud's table of permissions."""
    found: Table = import_module(f"sandbox.{cloud}.permissions").TABLE
    return found


@lru_cache
def recorded(cloud: str) -> Recorded:
    """Return what the stacks of a cloud need. Takes some seconds: it runs the program for each case."""
    permissions, types = table(cloud), clouds.of(cloud).types
    found: dict[Use, set[str]] = {use: set() for use in calls(permissions)}
    for body in cases.bodies(cloud):
        for use in uses(permissions, body.type, types[body.type], body.inputs):
            found.setdefault(use, set()).add(body.case)
    for kind in types.keys() - {body.type for body in cases.bodies(cloud)}:
        for use in uses(permissions, kind, types[kind], {}):  # made by the cloud controller, deleted by `down`
            found.setdefault(use, set())
    return Recorded(permissions, {use: frozenset(names) for use, names in found.items()})


def options(recorded: Recorded, permission: str) -> list[str]:
    """Return the options without which a permission is not needed; empty if a stack of this repository needs it."""
    found: set[str] = set()
    for use, names in recorded.cases.items():
        if use.permission == permission:
            if not names:
                return []
            found |= names
    ends = {name.partition("-")[2] for name in found}
    if ends - OPTIONS.keys():
        return []
    if "prod" in ends:  # so the cases made of it tell nothing
        ends &= {"prod", *_OF_DEV}
    elif len(ends) > 1:
        ends -= {"many", "closed-existing"}
    return [words for end, words in OPTIONS.items() if end in ends]
