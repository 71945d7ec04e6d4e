"""Differences between the built spec and the stack file: changed options, those that replace machines, and waves."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.rollout.spec_gate import built_spec
from components.spec import change_effects
from components.spec.change_effects import Effect
from components.spec.models import ClusterSpec
from components.spec.quantities import waits_for
from components.spec.report import SpecError

CLUSTER_TYPE = "mullion:index:MixedCluster"
"""Type of the component whose inputs, in the state, are the spec that was built."""

MOST_TRIES = 40
"""Changes that are planned one by one; effects of the remaining ones come from the table of change effects."""


@dataclass(frozen=True)
class Change:
    """One option that differs. Values are JSON; a missing one is ABSENT."""

    path: tuple[str, ...]
    built: Any
    now: Any

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    @property
    def effect(self) -> Effect | None:
        return change_effects.effect(self.dotted)

    def __str__(self) -> str:
        return f"{self.dotted}: {shown(self.built)} -> {shown(self.now)}"

    def document(self) -> dict[str, Any]:
        """Return the change as JSON; an absent value has no key."""
        values = {"built": self.built, "now": self.now}
        effect = self.effect.value if self.effect else None
        return {"path": self.dotted, **{k: v for k, v in values.items() if v is not ABSENT}, "effect": effect}


ABSENT = object()


def shown(value: Any) -> str:
    """Return a value as in a stack file, shortened."""
    text = "none" if value is ABSENT else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def changes(built: ClusterSpec, now: ClusterSpec) -> list[Change]:
    """Return the options that differ, in the order of the spec; an added or removed pool is one change."""
    return list(_differences(built.model_dump(mode="json"), now.model_dump(mode="json"), ()))


def _differences(built: Any, now: Any, path: tuple[str, ...]) -> Iterator[Change]:
    if built == now:
        return
    if not (isinstance(built, dict) and isinstance(now, dict)):
        yield Change(path, built, now)
        return
    for key in dict.fromkeys((*built, *now)):
        yield from _differences(built.get(key, ABSENT), now.get(key, ABSENT), (*path, key))


def behind(name: str, built: ClusterSpec, now: ClusterSpec) -> dict[str, list[Change]]:
    """Return, for each pool whose machines are replaced, the changes that replace them.

    Each change is applied to the built spec by itself, and the pools are planned. If no single change replaces the
    machines, all changes are returned that do by the table of change effects.
    """
    before = _planned(name, built)
    replacing = [change for change in changes(built, now) if change.effect in (Effect.REPLACED, Effect.REFUSED, None)]
    found: dict[str, list[Change]] = {}
    tried = [(change, _planned(name, _applied(built, change))) for change in replacing[:MOST_TRIES]]
    for pool in now.pools:
        old = _pool(before, pool)
        alone = [change for change, plan in tried if old and _replaced(old, _pool(plan, pool))]
        found[pool] = alone or [change for change in replacing if _concerns(change, pool)]
    return found


def _applied(built: ClusterSpec, change: Change) -> ClusterSpec | None:
    document = deepcopy(built.model_dump(mode="json"))
    *above, last = change.path
    at = document
    for key in above:
        at = at[key]
    at.pop(last, None)
    if change.now is not ABSENT:
        at[last] = change.now
    return built_spec(document)


def _planned(name: str, spec: ClusterSpec | None) -> ClusterPlan | None:
    try:
        return plan_cluster(name, spec) if spec else None
    except (SpecError, LookupError, ValueError):  # the change is valid only together with others
        return None


def _pool(plan: ClusterPlan | None, name: str) -> MachineGroup | None:
    return next((pool for pool in plan.pools if pool.name == name), None) if plan else None


def _replaced(old: MachineGroup, new: MachineGroup | None) -> bool:
    if new is None:
        return False
    addresses = {machine.name: machine.address for machine in new.machines}
    moved = any(addresses.get(machine.name, machine.address) != machine.address for machine in old.machines)
    return moved or old.replace_digest != new.replace_digest


def _concerns(change: Change, pool: str) -> bool:
    return change.effect is Effect.REPLACED and (change.path[0] != "pools" or change.path[1:2] == (pool,))


def waves(pool: Mapping[str, Any], machines: list[str], replaced: Mapping[str, str]) -> list[list[str]]:
    """Return the names of a pool's replaced machines in waves.

    A machine waits for an earlier one, as the engine has it (components/wiring/machine_groups.py).
    machines: all names of the pool, in order.
    """
    number: list[int] = []
    for index, name in enumerate(machines):
        before = waits_for(index, pool["max_unavailable"], canary=pool.get("canary", False))
        number.append((0 if before is None else number[before]) + (name in replaced))
    pairs = [(wave, name) for wave, name in zip(number, machines, strict=True) if name in replaced]
    return [[name for wave, name in pairs if wave == each] for each in sorted({wave for wave, _ in pairs})]
