"""Deletion of a cluster's resources: in order, in passes, until none is left or a time has passed without progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from operations.clouds.api import ApiError
from operations.reaping.accounts import clusters_of
from operations.reaping.things import TIER, Account, Remains, Thing

PAUSE = 5.0
"""Seconds between two passes. Machines end within minutes; until then their interfaces keep subnets and groups from
being deleted."""
PATIENCE = 600.0
"""Seconds without any progress after which the rest is given up: network load balancers and NAT gateways take the
longest, a few minutes."""
DELETING = 2700.0
"""The same while the cloud says that it is deleting a resource, such as an Azure resource group with its machines."""
SHORT = 60.0
"""The same after a final refusal: resources that depend on the refused one cannot be deleted either."""


@dataclass(frozen=True)
class Left:
    """A resource that could not be deleted, and the cloud's reason."""

    thing: Thing
    why: str


@dataclass
class Outcome:
    """Result of a removal: what was deleted, and what is left."""

    deleted: set[tuple[str, str, str]] = field(default_factory=set)
    left: list[Left] = field(default_factory=list)
    kept: str = ""
    """Why nothing (more) was deleted: tags that changed meanwhile."""


@dataclass(frozen=True)
class Clock:
    """Clock of the removal; tests replace it."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


def removed(
    account: Account,
    cluster: str,
    may: Callable[[Remains], str],
    *,
    snapshots: bool = False,
    clock: Clock | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Delete a cluster's resources.

    Each pass lists them anew, so that it sees what another reaper deleted, what a controller made meanwhile, and
    changed tags. may: returns why the cluster must stay, "" if it may be deleted; called in each pass.
    """
    clock, outcome = clock or Clock(), Outcome()
    before: set[tuple[str, str, str]] = set()
    moved = clock.now()
    while True:
        found = next((each for each in clusters_of(account) if each.cluster == cluster), None)
        things = found.removable(snapshots=snapshots) if found else ()
        keys = {each.key for each in things}
        outcome.deleted |= before - keys
        if found is None or not things:
            outcome.left = []
            return outcome
        if why := may(found):
            outcome.kept = why
            return outcome
        if keys != before:
            moved = clock.now()
            tell(f"{cluster}: {len(things)} resource{'s' if len(things) > 1 else ''} left")
        outcome.left, final = _pass(account, things)
        before = keys
        patience = DELETING if any(each.deleting for each in things) else PATIENCE
        if clock.now() - moved > (SHORT if final else patience):
            return outcome
        clock.pause(PAUSE)


def _pass(account: Account, things: tuple[Thing, ...]) -> tuple[list[Left], bool]:
    """Ask for the deletion of each resource once. Return what is left, and whether a refusal is final."""
    left, final = [], False
    for each in things:
        if each.held:
            left.append(Left(each, each.held))
            final = True
            continue
        if each.rank // TIER > things[0].rank // TIER:  # in order of rank
            left.append(Left(each, "it waits for the other resources"))
            continue
        try:
            account.delete(each)
        except ApiError as error:
            left.append(Left(each, str(error)))
            final = final or not (error.throttled or account.waits(error.code))
        else:
            left.append(Left(each, "its deletion takes longer"))
    return left, final
