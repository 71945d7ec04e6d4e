"""What holds of a cluster in the sandbox after every run that ends well, whatever happened before it."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operations.chaos.clone import ScratchClone
from operations.clouds import cloud_tables
from operations.recovery import state_check
from operations.recovery.state_check import Thing
from sandbox.cloud_state import CloudState
from sandbox.records import Operation, Record
from sandbox.values import ASSETS, SECRET, SIGNATURE

GENERATED = "mullion:index:Generated$"
"""In the URNs of what was made once; what was looked up once has others."""
CONTROL_PLANE = ":ControlPlane$"
POINTER = "-desired-state"
"""End of the URN of the desired-state pointer, among those of objects."""
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
    kept: frozenset[Thing] = frozenset()
    """What runs may have left in the world on purpose."""
    left: tuple[Path, ...] = ()
    """Files that a run takes away when it ends well: locks, and what is left of a roll."""
    reported: Mapping[str, str] = field(default_factory=dict[str, str])
    """The version of Kubernetes that each machine says it has, by instance; only of machines that are ready."""

    @property
    def resources(self) -> list[dict[str, Any]]:
        """The state's resources."""
        return self.state.get("resources") or []

    @property
    def machines(self) -> dict[str, str]:
        """What instances call themselves, by URN: the id of a resource may be a name, which a successor has again."""
        return {
            each.urn: str({**each.outputs, "id": each.id}[cloud_tables.of_type(each.type).instance])
            for each in self.there
            if each.type in cloud_tables.MACHINES
        }


@dataclass(frozen=True)
class Asked:
    """What the runs between two snapshots were asked for; machines and pools by the names of their resources."""

    renewed: Collection[str] = ()
    """Ends of the URNs of secrets that may be new."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many machines of a pool may be missing at any moment."""
    kubernetes: str | None = None
    """What every machine has then; None where that is not looked at."""
    replaced: Collection[str] | None = None
    """Pools or machines that are made anew, and no others; None where that is not known."""


def snapshot(clone: ScratchClone) -> Snapshot:
    """Look at a clone as it is now."""
    with clone.cloud_state() as cloud_state:
        there, calls = tuple(cloud_state.resources()), tuple(cloud_state.operations())
        reported = _reported(cloud_state)
    secrets = {urn: digest for urn, digest in clone.secrets().items() if GENERATED in urn}
    kept = frozenset(state_check.kept_in(clone.sandbox))
    left = (*clone.locks(), *clone.rolls())
    return Snapshot(clone.state(), there, calls, secrets, kept, left, reported)


def _reported(cloud_state: CloudState) -> dict[str, str]:
    """What status records say, of machines that are ready."""
    stored = (
        each
        for bucket in cloud_state.buckets()
        for key, each in cloud_state.objects(bucket).items()
        if key.startswith("status/")
    )
    records = [json.loads(each.content) for each in stored]
    return {each["instance"]: each["kubernetes"] for each in records if each["state"] in ("ready", "registered")}


def broken(before: Snapshot, after: Snapshot, asked: Asked) -> Iterator[str]:
    """Say what does not hold after runs that ended well. A cluster that was removed has nothing to keep."""
    yield from at_rest(after)
    if not after.resources:
        return
    for urn, digest in before.secrets.items():
        if after.secrets.get(urn) != digest and not (asked.renewed and urn.endswith(tuple(asked.renewed))):
            yield f"the secret {urn} {'is another one' if urn in after.secrets else 'is gone'}"
    for urn, machine in before.machines.items():
        if CONTROL_PLANE in urn and after.machines.get(urn) != machine:
            yield f"control plane {urn}: instance {machine} became {after.machines.get(urn)}"
    wanted = {each.urn for each in after.there}
    calls = [each for each in after.calls[len(before.calls) :] if each.urn in wanted]
    yield from missing(calls, asked.limits)
    yield from _made_anew(before, after, asked.replaced)
    if asked.kubernetes is not None:
        yield from _versions(before, after, calls, asked.kubernetes)


def _made_anew(before: Snapshot, after: Snapshot, replaced: Collection[str] | None) -> Iterator[str]:
    """Workers that were there before and are: others where they should be, the same where not."""
    for urn, machine in after.machines.items() if replaced is not None else ():
        name = urn.rpartition("::")[2]
        same, should = before.machines.get(urn) == machine, {name, name.rpartition("-")[0]} & set(replaced or ())
        if urn in before.machines and CONTROL_PLANE not in urn and same is bool(should):
            yield f"{name} {'is still' if same else 'was'} {before.machines[urn]}; " + (
                "it was to be made anew" if should else f"it is {machine}, and nothing of it changed"
            )


def _versions(before: Snapshot, after: Snapshot, calls: Iterable[Operation], wanted: str) -> Iterator[str]:
    """All machines are ready and have the version; no worker got it before the control plane was asked for it."""
    for urn, machine in after.machines.items():
        if (found := after.reported.get(machine)) != wanted:
            yield f"{urn.rpartition('::')[2]} ({machine}) reports Kubernetes {found}, not {wanted}"
    older = {before.reported.get(each) for urn, each in before.machines.items() if CONTROL_PLANE in urn}
    if not older or older == {wanted}:
        return
    done = [each for each in calls if not each.error and each.kind != "delete"]
    pointed = next(
        (each.sequence for each in done if each.type in cloud_tables.OBJECTS and each.urn.endswith(POINTER)), None
    )
    for each in done:
        if each.type in cloud_tables.MACHINES and (pointed is None or each.sequence < pointed):
            yield f"{each.urn.rpartition('::')[2]} was made before the control plane was asked for {wanted}"


def at_rest(now: Snapshot) -> Iterator[str]:
    """Say where state and world differ, and what runs left that they should not have."""
    yield from (f"the file {each} is left" for each in now.left)
    for each in now.state.get("pending_operations") or []:
        yield f"{each['type']} {each['resource']['urn']} is pending"
    found = state_check.compare(now.resources, ((each.type, each.id) for each in now.there), now.kept)
    yield from (f"in the sandbox alone: {kind} {key}" for kind, key in found.orphans)
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
        if each.type not in cloud_tables.MACHINES or each.error or pool not in limits:
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
            if recorded.get(name) != _told(real.get(name), recorded.get(name)):
                yield f"{each['urn']} {name}: {recorded.get(name)} in the state, {real.get(name)} in the sandbox"


def _told(real: Any, recorded: Any) -> Any:
    """What is real without the secrets inside it that the state has no member for: what was taken over from a cloud, as
    a machine with its administrator, comes without the password. One that is null in the state stays a difference.
    """
    if not isinstance(real, dict) or not isinstance(recorded, dict):
        return real
    members = {name: value for name, value in real.items() if name in recorded or value != MASKED}
    return {name: _told(value, recorded.get(name)) for name, value in members.items()}


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
