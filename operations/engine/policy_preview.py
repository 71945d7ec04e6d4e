"""Preview before `mullion up`: refuses policy violations (policies/) and changes that lose several control planes.

Policies see the planned resources but no deletions, so this module judges deletions by the preview's steps.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pulumi import automation as auto

from operations.console.exits import Exit, Stop
from operations.engine.events import violation
from operations.stacks import target
from operations.stacks.paths import REPOSITORY

PACK = REPOSITORY / "policies"
PACKS = [str(PACK)]
"""Policy packs for `run.up`, which also checks values that are unknown in a preview."""
ADVISORY = PACK / "advisory.json"
"""Configuration that makes every rule advisory. A mandatory rule would end the preview at its first violation and hide
the others; `check` collects all and decides."""

GOING = frozenset({"delete", "replace", "create-replacement", "delete-replaced"})
"""Operations that delete the existing machine."""
STOPPING = frozenset({"cpuOptions", "ebsOptimized", "instanceType", "machineType", "userData", "userDataBase64"})
"""Inputs that EC2 (ModifyInstanceAttribute, ModifyInstanceCpuOptions) and Compute Engine (instances.setMachineType)
change only while an instance is stopped; the provider stops it."""

CONTROL_PLANE = re.compile(r"\$mullion:\w+:ControlPlane\$[^$:]+:[^$:]+:(?:Instance|VirtualMachine)::(.+)")
"""Matches the URN of a control plane machine; group 1 is its name."""


@dataclass(frozen=True)
class Planned:
    """One step of a preview. changes: names of top-level inputs that differ."""

    urn: str
    op: str
    changes: frozenset[str] = frozenset()


def together(steps: Iterable[Planned]) -> str | None:
    """Return the control planes that the steps delete, replace or stop, if these are several or all; else None.

    One that goes for good counts alone: its etcd member would stay, and of two members one has no quorum.
    """
    lost: dict[str, str] = {}
    existing: set[str] = set()
    for step in steps:
        machine = CONTROL_PLANE.search(step.urn)
        if machine is None or step.op in ("create", "read", "import"):
            continue
        existing.add(machine[1])
        if step.op in GOING:
            lost[machine[1]] = "deleted" if step.op == "delete" else "replaced"
        elif step.op == "update" and step.changes & STOPPING:
            lost.setdefault(machine[1], "stopped")
    if not lost or (len(lost) == 1 and lost.keys() != existing and "deleted" not in lost.values()):
        return None
    return ", ".join(f"{name} ({how})" for name, how in sorted(lost.items()))


def environment() -> dict[str, str]:
    """Return variables that let the engine find policies/bin, which starts the pack with this interpreter.

    Used only if the engine has no Python language host of its own.
    """
    path = f"{PACK / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path, "MULLION_PYTHON": sys.executable}


def check(name: str, run: auto.Stack, hear: Callable[[auto.EngineEvent], object]) -> None:
    """Preview a stack. Raises Stop with all reasons if `up` must not begin. hear: gets every event.

    Requires and raises what `judge` does.
    """
    if broken := judge(name, run, hear):
        raise refusal(name, broken)


def judge(name: str, run: auto.Stack, hear: Callable[[auto.EngineEvent], object]) -> list[str]:
    """Preview a stack, and return a line for each violation, with the rule's name in brackets at the end.

    Requires the variables of `environment()`. Raises CommandError if the preview itself fails.
    """
    steps: list[Planned] = []
    broken: list[str] = []

    def heard(event: auto.EngineEvent) -> None:
        hear(event)
        if event.resource_pre_event:
            steps.append(planned(event.resource_pre_event.metadata))
        elif event.policy_event:
            broken.append(violation(event.policy_event))

    run.preview(on_event=heard, color="never", policy_packs=PACKS, policy_pack_configs=[str(ADVISORY)])
    if lost := together(steps):
        broken.append(
            f"the control plane would lose all machines or its etcd quorum: {lost}. Undo the change, make it on one "
            f"machine at a time, or build the cluster again ({target.command('down', name)}) [control-planes-together]"
        )
    return broken


def summary(rules: int, broken: Iterable[str]) -> str:
    """Return one line: how many rules there are, and which are broken. broken: lines of `judge`."""
    names = sorted({line.rpartition("[")[2].rstrip("]") for line in broken})
    return f"Policies: {rules} rules, {len(names)} broken" + (f": {', '.join(names)}" if names else "")


def planned(metadata: auto.StepEventMetadata) -> Planned:
    """Return the step of an event, for `together`."""
    changes = frozenset(re.split(r"[.\[]", path)[0] for path in metadata.diffs or [])
    return Planned(metadata.urn, str(getattr(metadata.op, "value", metadata.op)), changes)


def refusal(name: str, reasons: list[str]) -> Stop:
    """Return the error of a stack that breaks rules. reasons: lines of `judge`."""
    listed = "\n".join(f"  {reason}" for reason in sorted(set(reasons)))
    return Stop(Exit.REFUSED, f"stack {name}: policies refuse this; nothing was changed (docs/policies.md)\n{listed}")
