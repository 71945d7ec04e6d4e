"""`mullion drift`: differences between a stack's state and its cloud, as a refresh finds them. Changes nothing."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from pulumi import automation as auto

from operations.commands import lost_identities
from operations.console.exits import Exit, Stop
from operations.engine import failures, locate, locks
from operations.engine.events import SILENT, Tally, step_of
from operations.engine.workspace import backend, existing, opened
from operations.stacks import stack_files, target

IGNORED = ("__defaults", "tagsAll")
"""Ignored properties: defaults noted by the engine, and `tags` merged with the provider's default tags."""


@dataclass(frozen=True)
class Property:
    """One property: its path, its value in the state, its value in the cloud; None if it has no value."""

    path: str
    recorded: Any
    real: Any


@dataclass(frozen=True)
class Drift:
    """One resource that differs from the state. change: changed or removed. A changed secret lists no property."""

    name: str
    type: str
    urn: str
    change: str
    properties: list[Property] = field(default_factory=list[Property])


def drift(name: str, *, as_json: bool) -> None:
    """Print the differences between cloud and state. Raises Stop with code DRIFT if there are any."""
    stack_files.file(name)
    sandbox = target.in_sandbox(name)
    with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
        run = existing(name, workspace)
        if run is None:
            raise Stop(Exit.FAILED, f"stack {name} was never built; `{target.command('up', name)}` builds it")
        for lock in locks.of_stack(name, backend()):
            holder = (
                f"a run that died; `{target.command('up', name)}` removes the lock"
                if lock.dead
                else "a run in progress"
            )
            raise Stop(Exit.LOCKED, f"stack {name} is locked by {lock}: {holder}; its state is not complete")
        drifts = find(run)
    if as_json:
        print(json.dumps([asdict(drift) for drift in drifts], indent=2))
    else:
        print("\n".join(line for drift in drifts for line in lines(drift)) or f"{name} has no drift")
    if drifts:
        many = f"{len(drifts)} resource{'s differ' if len(drifts) > 1 else ' differs'} from the state"
        lost = lost_identities.advice((each.name, each.type) for each in drifts if each.change == "removed")
        said = [f"{many}; to repair: {target.command('up', name, '--refresh')}", *filter(None, [lost])]
        raise Stop(Exit.DRIFT, "\n".join(said))


def find(run: auto.Stack) -> list[Drift]:
    """Return the drift of a stack, sorted by URN: the provider reads every resource."""
    drifts: list[Drift] = []
    tally = Tally()

    def hear(event: auto.EngineEvent) -> None:
        tally.hear(event)
        if event.res_outputs_event and (drift := _of(event.res_outputs_event.metadata)):
            drifts.append(drift)

    with failures.reported(run.name, tally):
        run.preview_refresh(on_event=hear, show_secrets=False, color="never")
    return sorted(drifts, key=lambda drift: drift.urn)


def lines(drift: Drift) -> Iterator[str]:
    """Yield the lines about one resource: its change, and each property's value in the state and in the cloud."""
    yield f"{drift.change} {drift.name} ({drift.type})"
    for each in drift.properties:
        yield f"  {each.path}: {_text(each.recorded)} -> {_text(each.real)}"
    if drift.change == "changed" and not drift.properties:
        yield "  a secret value, or a value that is not in the state"


def compare(old: Any, new: Any, path: str = "") -> Iterator[Property]:
    """Yield the properties that differ, with paths in the engine's form: a.b[0].c."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            if name not in IGNORED:
                yield from compare(old.get(name), new.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (old_item, new_item) in enumerate(zip(old, new, strict=True)):
            yield from compare(old_item, new_item, f"{path}[{index}]")
    elif old != new and (old or new):
        yield Property(path, old, new)


def _of(metadata: auto.StepEventMetadata) -> Drift | None:
    step = step_of(metadata)
    if step.type.startswith(SILENT) or step.op not in ("update", "delete", "retain"):
        return None
    if step.op != "update" or not metadata.old or not metadata.new:
        return Drift(step.name, step.type, step.urn, "removed")
    inputs = list(compare(metadata.old.inputs, metadata.new.inputs))
    return Drift(
        step.name,
        step.type,
        step.urn,
        "changed",
        inputs or list(compare(metadata.old.outputs, metadata.new.outputs)),
    )


def _text(value: Any) -> str:
    return "nothing" if value is None else value if isinstance(value, str) else json.dumps(value)
