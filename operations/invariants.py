"""What holds of a cluster in the sandbox after every run that ends well, whatever happened before it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operations import agreement
from operations.agreement import Thing
from operations.replica import Replica
from operations.state import INSTANCE
from sandbox.records import Operation, Record
from sandbox.values import ASSETS, SECRET, SIGNATURE

GENERATED = "mullion:index:Generated$"
"""In the URNs of what was made once; what was looked up once has others."""
CONTROL_PLANE = "mullion:aws:ControlPlane$"
MASKED = "[secret]"


@dataclass(frozen=True)
class Snapshot:
    """A cluster between two runs."""

    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As it lies on the disk."""
    there: tuple[Record, ...] = ()
    """What is in the world."""
    calls: tuple[Operation, ...] = ()
    """All that the world was ever asked for."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of the decrypted values, by URN."""
    locks: tuple[Path, ...] = ()
    kept: frozenset[Thing] = frozenset()
    """What runs may have left in the world on purpose."""

    @property
    def resources(self) -> list[dict[str, Any]]:
        """The state's resources."""
        return self.state.get("resources") or []

    @property
    def control_planes(self) -> dict[str, str]:
        """Instance ids by URN."""
        return {each.urn: each.id for each in self.there if each.type == INSTANCE and CONTROL_PLANE in each.urn}


def snapshot(replica: Replica) -> Snapshot:
    """Look at a replica as it is now."""
    with replica.world() as world:
        there, calls = tuple(world.resources()), tuple(world.operations())
    secrets = {urn: digest for urn, digest in replica.secrets().items() if GENERATED in urn}
    kept = frozenset(agreement.kept_in(replica.sandbox))
    return Snapshot(replica.state(), there, calls, secrets, tuple(replica.locks()), kept)


def broken(before: Snapshot, after: Snapshot, renewed: Collection[str], limits: Mapping[str, int]) -> Iterator[str]:
    """Say what does not hold after runs that ended well.

    renewed: ends of the URNs of secrets that may be new. limits: how many machines of a pool may be missing at any
    moment, by what their names begin with. A cluster that was removed has nothing to keep.
    """
    yield from at_rest(after)
    if not after.resources:
        return
    for urn, digest in before.secrets.items():
        if after.secrets.get(urn) != digest and not (renewed and urn.endswith(tuple(renewed))):
            yield f"the secret {urn} {'is another one' if urn in after.secrets else 'is gone'}"
    for urn, machine in before.control_planes.items():
        if after.control_planes.get(urn) != machine:
            yield f"control plane {urn}: instance {machine} became {after.control_planes.get(urn)}"
    wanted = {each.urn for each in after.there}
    yield from missing((each for each in after.calls[len(before.calls) :] if each.urn in wanted), limits)


def at_rest(now: Snapshot) -> Iterator[str]:
    """Say where state and world differ, and what runs left that they should not have."""
    yield from (f"the lock {each} is left" for each in now.locks)
    for each in now.state.get("pending_operations") or []:
        yield f"{each['type']} {each['resource']['urn']} is pending"
    found = agreement.compare(now.resources, ((each.type, each.id) for each in now.there), now.kept)
    yield from (f"in the world alone: {kind} {key}" for kind, key in found.orphans)
    yield from (f"in the state alone: {kind} {key}" for kind, key in found.missing)
    twice = Counter(each["urn"] for each in now.resources)
    yield from (f"in the state {count} times: {urn}" for urn, count in twice.items() if count > 1)
    yield from _differing(now)


def missing(calls: Iterable[Operation], limits: Mapping[str, int]) -> Iterator[str]:
    """Say where more machines of a pool than its limit were gone at a time, as the calls tell in their order."""
    gone: dict[str, set[str]] = defaultdict(set)
    for each in calls:
        name = each.urn.rpartition("::")[2]
        pool = name.rpartition("-")[0]
        if each.type != INSTANCE or each.error or pool not in limits:
            continue
        (gone[pool].add if each.kind == "delete" else gone[pool].discard)(name)
        if len(gone[pool]) > limits[pool]:
            yield f"{', '.join(sorted(gone[pool]))} were missing at once; at most {limits[pool]} may"


def _differing(now: Snapshot) -> Iterator[str]:
    """The inputs of both sides, but for secrets and the engine's own notes."""
    there = {(each.type, each.id): each.inputs for each in now.there}
    for each in now.resources:
        known = there.get((each["type"], each.get("id", "")))
        if known is None:
            continue
        recorded, real = _comparable(each.get("inputs") or {}), _comparable(known)
        for name in sorted(recorded.keys() | real.keys()):
            if recorded.get(name) != real.get(name):
                yield f"{each['urn']} {name}: {recorded.get(name)} in the state, {real.get(name)} in the world"


def _comparable(value: Any) -> Any:
    """Secrets as MASKED, files as their hash, whether from a state or a world."""
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    signature = value.get(SIGNATURE)
    if signature == SECRET or "redacted" in value:
        return MASKED
    if signature in ASSETS:
        return value["hash"]
    if value.keys() == {"asset"}:
        return value["asset"]["hash"]
    return {name: _comparable(each) for name, each in value.items() if name != "__defaults"}
