"""Invariants of a cluster in the sandbox that hold after every run that succeeds."""

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
from sandbox.existing_network import is_of_no_cluster
from sandbox.records import Operation, Record
from sandbox.values import ASSETS, SECRET, SIGNATURE

GENERATED = "mullion:index:Generated$"
"""Part of the URNs of generated secrets; values that were looked up have another type."""
CONTROL_PLANE = ":ControlPlane$"
POINTER = "-desired-state"
"""End of the URN of the desired-state pointer, an object in a bucket."""
MASKED = "[secret]"


@dataclass(frozen=True)
class Snapshot:
    """A cluster between two runs."""

    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The state on the disk."""
    there: tuple[Record, ...] = ()
    """Resources in the sandbox, without those of the user's network."""
    calls: tuple[Operation, ...] = ()
    """All calls to the sandbox so far."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of decrypted secrets, by URN."""
    kept: frozenset[Thing] = frozenset()
    """Resources that runs may have left in the sandbox on purpose."""
    left: tuple[Path, ...] = ()
    """Files that a run deletes when it ends well, but that still exist: locks and unfinished rolls."""
    reported: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kubernetes version in the status record of each ready machine, by instance id."""

    @property
    def resources(self) -> list[dict[str, Any]]:
        """The state's resources."""
        return self.state.get("resources") or []

    @property
    def machines(self) -> dict[str, str]:
        """Instance ids by URN. A resource's own id may be a name, which its replacement has too."""
        return {
            machine.urn: str({**machine.outputs, "id": machine.id}[cloud_tables.of_type(machine.type).instance])
            for machine in self.there
            if machine.type in cloud_tables.MACHINES
        }


@dataclass(frozen=True)
class Asked:
    """Allowed effects of the runs between two snapshots; machines and pools by the names of their resources."""

    renewed: Collection[str] = ()
    """URN suffixes of secrets that may be renewed."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of machines of each pool that may be missing at any moment."""
    kubernetes: str | None = None
    """Kubernetes version of every machine afterwards; None: not checked."""
    replaced: Collection[str] | None = None
    """Pools or machines that are replaced, and no others; None if unknown."""


def snapshot(clone: ScratchClone) -> Snapshot:
    """Return a snapshot of a clone."""
    with clone.cloud_state() as cloud_state:
        there = tuple(each for each in cloud_state.resources() if not is_of_no_cluster(each.urn))
        calls = tuple(cloud_state.operations())
        reported = _reported(cloud_state)
    secrets = {urn: digest for urn, digest in clone.secrets().items() if GENERATED in urn}
    kept = frozenset(state_check.kept_in(clone.sandbox))
    left = (*clone.locks(), *clone.rolls())
    return Snapshot(clone.state(), there, calls, secrets, kept, left, reported)


def _reported(cloud_state: CloudState) -> dict[str, str]:
    """Return the Kubernetes versions in the status records of ready machines."""
    stored = (
        record
        for bucket in cloud_state.buckets()
        for key, record in cloud_state.objects(bucket).items()
        if key.startswith("status/")
    )
    records = [json.loads(each.content) for each in stored]
    return {each["instance"]: each["kubernetes"] for each in records if each["state"] in ("ready", "registered")}


def broken(before: Snapshot, after: Snapshot, asked: Asked) -> Iterator[str]:
    """Yield a line for each broken invariant after runs that succeeded. After `down`, only `at_rest` is checked."""
    yield from at_rest(after)
    if not after.resources:
        return
    for urn, digest in before.secrets.items():
        if after.secrets.get(urn) != digest and not (asked.renewed and urn.endswith(tuple(asked.renewed))):
            yield f"the secret {urn} {'changed' if urn in after.secrets else 'is gone'}"
    for urn, machine in before.machines.items():
        if CONTROL_PLANE in urn and after.machines.get(urn) != machine:
            yield f"control plane {urn}: instance {machine} became {after.machines.get(urn)}"
    wanted = {each.urn for each in after.there}
    calls = [each for each in after.calls[len(before.calls) :] if each.urn in wanted]
    yield from missing(calls, asked.limits)
    yield from _replaced_workers(before, after, asked.replaced)
    if asked.kubernetes is not None:
        yield from _versions(before, after, calls, asked.kubernetes)


def _replaced_workers(before: Snapshot, after: Snapshot, replaced: Collection[str] | None) -> Iterator[str]:
    """Check that exactly the workers that should have been replaced were replaced."""
    for urn, machine in after.machines.items() if replaced is not None else ():
        name = urn.rpartition("::")[2]
        same, should = before.machines.get(urn) == machine, {name, name.rpartition("-")[0]} & set(replaced or ())
        if urn in before.machines and CONTROL_PLANE not in urn and same is bool(should):
            yield f"{name} {'is still' if same else 'was'} {before.machines[urn]}; " + (
                "it should have been replaced" if should else f"it is {machine} now, but none of its options changed"
            )


def _versions(before: Snapshot, after: Snapshot, calls: Iterable[Operation], wanted: str) -> Iterator[str]:
    """Check that all machines are ready with the version, and that no worker was created with it before the pointer
    told the control plane to upgrade.
    """
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
            yield f"{each.urn.rpartition('::')[2]} was created before the control plane was asked for {wanted}"


def at_rest(now: Snapshot) -> Iterator[str]:
    """Yield a line for each difference between state and sandbox, and for each file that a run left behind."""
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
    """Yield a line whenever a pool lacked more machines than its limit, by the order of the calls."""
    gone: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        name = call.urn.rpartition("::")[2]
        pool = name.rpartition("-")[0]
        if call.type not in cloud_tables.MACHINES or call.error or pool not in limits:
            continue
        (gone[pool].add if call.kind == "delete" else gone[pool].discard)(name)
        if len(gone[pool]) > limits[pool]:
            yield f"{', '.join(sorted(gone[pool]))} were missing at once; at most {limits[pool]} may"


def _differing(now: Snapshot) -> Iterator[str]:
    """Compare the inputs in state and sandbox, without secrets and the engine's own properties."""
    there = {(each.type, each.id): each.inputs for each in now.there}
    for resource in now.resources:
        known = there.get((resource["type"], resource.get("id", "")))
        if known is None:
            continue
        recorded, real = _comparable(resource.get("inputs") or {}), _comparable(known)
        for name in sorted(recorded.keys() | real.keys()):
            if recorded.get(name) != _without_unrecorded_secrets(real.get(name), recorded.get(name)):
                yield f"{resource['urn']} {name}: {recorded.get(name)} in the state, {real.get(name)} in the sandbox"


def _without_unrecorded_secrets(real: Any, recorded: Any) -> Any:
    """Return real inputs without nested secrets that the state lacks. A resource that recovery added to the state, such
    as a machine with its administrator, comes without the password. A null in the state stays a difference.
    """
    if not isinstance(real, dict) or not isinstance(recorded, dict):
        return real
    members = {name: value for name, value in real.items() if name in recorded or value != MASKED}
    return {name: _without_unrecorded_secrets(value, recorded.get(name)) for name, value in members.items()}


def _comparable(value: Any) -> Any:
    """Replace secrets by MASKED and files by their hash, in inputs from a state or a sandbox."""
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
