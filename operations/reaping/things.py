"""Resources of clusters as a cloud's inventory finds them, and the clusters that they belong to."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from components.spec import expiry
from operations.engine.clusters import span

TIER = 100
"""Each hundred ranks are a tier, whose resources are deleted once all resources of lower tiers are deleted: those are
found by them (a network), or they say when the cluster was created.
"""


MACHINES = frozenset({"instance", "instances"})
"""Kinds that are machines, on AWS and on Google Cloud."""


@dataclass(frozen=True)
class Thing:
    """One resource of a cluster.

    kind: the cloud's word for its type. rank: place in the order of deletion, the lowest first. network: id of its
    network; empty if it has none, or if no decision needs it. by_controller: Kubernetes or a guard of the account made
    it, without Mullion's tags. untagged: it cannot have tags, and belongs to a resource that has them. kept: it is a
    snapshot store, which stays unless --snapshots is given. retained: why it stays nevertheless; empty: it
    goes. held: why it must not be deleted. deleting: the cloud says so of it. inside: machines in it (a resource group
    of Azure).
    """

    kind: str
    id: str
    region: str
    cluster: str
    rank: int
    owner: str = ""
    expires: str = ""
    protected: bool = False
    created: datetime | None = None
    network: str = ""
    by_controller: bool = False
    untagged: bool = False
    kept: bool = False
    retained: str = ""
    held: str = ""
    deleting: bool = False
    inside: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.region, self.id


class Account(Protocol):
    """One account of a cloud, as the reaper needs it."""

    @property
    def cloud(self) -> str:
        """Return aws, gcp or azure."""
        ...

    @property
    def name(self) -> str:
        """Return the account, project or subscription."""
        ...

    def inventory(self) -> list[Thing]:
        """Return the resources of all clusters. Raises ApiError or Stop if a list is refused."""
        ...

    def delete(self, thing: Thing) -> None:
        """Ask the cloud to delete a resource; what does not exist any more counts as deleted. Raises ApiError."""
        ...

    def waits(self, code: str) -> bool:
        """Return whether a refusal with this code ends by itself: another resource still uses this one."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Remains:
    """The resources of one cluster, by tags. expires: None if it does not expire, or if the time is unknown; `why` then
    has the reason.
    """

    cluster: str
    things: tuple[Thing, ...]
    owner: str = ""
    expires: datetime | None = None
    why: str = ""
    regions: tuple[str, ...] = field(default=())

    @property
    def machines(self) -> int:
        """Number of its machines, without those that the cloud deletes."""
        return sum(1 if each.kind in MACHINES else each.inside for each in self.things if not each.deleting)

    @property
    def created(self) -> datetime | None:
        """When the oldest resource was created, as far as the cloud says it."""
        return min((each.created for each in self.things if each.created), default=None)

    def has_state(self, stated: Collection[str]) -> bool:
        """Return whether one of these names of clusters with a state is this one's.

        Labels of Google Cloud have lower-case names.
        """
        return any(self.cluster in (name, name.lower()) for name in stated)

    def kept(self, now: datetime, *, snapshots: bool) -> str:
        """Return why the resources must stay; empty if they are to be removed."""
        if self.why:
            return self.why
        if not self.removable(snapshots=snapshots):
            return "only its snapshot store is left; --snapshots removes it too"
        if self.expires is None or self.expires > now:
            return f"expires in {span(self.expires - now)}" if self.expires else "it does not expire"
        return ""

    def removable(self, *, snapshots: bool) -> tuple[Thing, ...]:
        """Return the resources to delete, in order."""
        wanted = (each for each in self.things if not each.retained and (snapshots or not each.kept))
        return tuple(sorted(wanted, key=lambda each: (each.rank, each.kind, each.id)))


def clusters(things: Iterable[Thing]) -> list[Remains]:
    """Return the clusters that these resources belong to, by name. Only Mullion's own tags count.

    A cluster ends when the last of its resources does: two clusters of one name in an account are one here.
    """
    by_name: dict[str, list[Thing]] = {}
    for each in things:
        by_name.setdefault(each.cluster, []).append(each)
    found = (
        (name, each)
        for name, each in sorted(by_name.items())
        if any(not (one.by_controller or one.untagged) for one in each)
    )
    return [_cluster(name, each) for name, each in found]


def _cluster(name: str, things: list[Thing]) -> Remains:
    tagged = [each for each in things if not each.by_controller and not each.untagged]
    born = max((each.created for each in things if each.created), default=None)
    texts = {each.expires for each in tagged}
    ends = [expiry.end(text, born) for text in texts if text]
    why = ""
    if any(each.protected for each in things):
        why = "protected"
    elif not texts or "" in texts:
        why = "it does not expire" if not any(texts) else "some of its resources do not expire"
    elif None in ends:
        why = f"its expiry is unknown: expires is {', '.join(sorted(texts))}, and no resource says when it was created"
    last = max((end for end in ends if end), default=None) if not why else None
    owner = next((each.owner for each in tagged if each.owner), "")
    regions = sorted({each.region for each in things})
    return Remains(name, tuple(things), owner, last, why, tuple(regions))


def tagged_fields(tags: Mapping[str, str], mark: str) -> dict[str, str | bool]:
    """Return owner, expiry and protection by a resource's tags. mark: prefix of Mullion's keys."""
    return {
        "owner": tags.get(f"{mark}owner", ""),
        "expires": tags.get(f"{mark}expires", ""),
        "protected": tags.get(f"{mark}protect", "").lower() == "true",
    }
