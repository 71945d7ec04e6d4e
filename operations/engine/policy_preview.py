"""What `mullion up` refuses before it begins: a preview that breaks a rule of the policy pack (policies/), or takes
control planes away together.

The pack sees what resources will be, never which of them go; that is judged here, from the preview's steps.
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
"""For `policy_packs` of `run.up`, where the pack sees what a preview could not know."""
ADVISORY = PACK / "advisory.json"
"""Makes every rule advisory. A mandatory one ends a preview at once, with the program cut in the middle and the rest
unsaid; so the preview here hears all of them, and judges by itself."""

GOING = frozenset({"delete", "replace", "create-replacement", "delete-replaced"})
"""Operations after which the machine that was there is gone."""
STOPPING = frozenset({"cpuOptions", "ebsOptimized", "instanceType", "machineType", "userData", "userDataBase64"})
"""Inputs of an instance that EC2 changes only while it is stopped (ModifyInstanceAttribute, ModifyInstanceCpuOptions),
and Compute Engine (instances.setMachineType); the provider stops it by itself."""

_CONTROL_PLANE = re.compile(r"\$mullion:\w+:ControlPlane\$[^$:]+:[^$:]+:(?:Instance|VirtualMachine)::(.+)")
"""URN of a control plane machine, and its name."""


@dataclass(frozen=True)
class Planned:
    """One step of a preview. changes: top-level inputs that differ."""

    urn: str
    op: str
    changes: frozenset[str] = frozenset()


def together(steps: Iterable[Planned]) -> str | None:
    """Say which control planes the steps take away, if more than one or all there are; else None."""
    lost: dict[str, str] = {}
    there: set[str] = set()
    for step in steps:
        machine = _CONTROL_PLANE.search(step.urn)
        if machine is None or step.op in ("create", "read", "import"):
            continue
        there.add(machine[1])
        if step.op in GOING:
            lost[machine[1]] = "deleted" if step.op == "delete" else "replaced"
        elif step.op == "update" and step.changes & STOPPING:
            lost.setdefault(machine[1], "stopped")
    if not lost or (len(lost) == 1 and lost.keys() != there):
        return None
    return ", ".join(f"{name} ({how})" for name, how in sorted(lost.items()))


def environment() -> dict[str, str]:
    """Variables by which the engine finds our starter of the pack, and that the interpreter that runs now.

    It needs them only where it has no language host of its own for Python.
    """
    path = f"{PACK / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path, "MULLION_PYTHON": sys.executable}


def check(name: str, run: auto.Stack, hear: Callable[[auto.EngineEvent], object]) -> None:
    """Preview a stack, and raise Stop, with all reasons, when `up` must not begin. hear: gets every event.

    Wants `environment()` in this process's. Raises CommandError when the preview itself fails.
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
            f"the control plane would be gone or without a majority: {lost}. Undo the change, make it for one "
            f"machine at a time, or build the cluster anew ({target.command('down', name)}) [control-planes-together]"
        )
    if broken:
        raise Stop(Exit.REFUSED, _refused(name, broken))


def planned(metadata: auto.StepEventMetadata) -> Planned:
    """Take from an event what `together` judges."""
    changes = frozenset(re.split(r"[.\[]", each)[0] for each in metadata.diffs or [])
    return Planned(metadata.urn, str(getattr(metadata.op, "value", metadata.op)), changes)


def _refused(name: str, reasons: list[str]) -> str:
    listed = "\n".join(f"  {each}" for each in sorted(set(reasons)))
    return f"stack {name}: guards refuse this; nothing was changed (docs/policies.md)\n{listed}"
