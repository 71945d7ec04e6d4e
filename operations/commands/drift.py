"""`mullion drift`: what somebody changed or removed by hand, as a refresh would find it. Changes nothing."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from pulumi import automation as auto

from operations.console.exits import Exit, Stop
from operations.engine import failures, locate, locks
from operations.engine.events import SILENT, Tally, step_of
from operations.engine.workspace import backend, existing, opened
from operations.stacks import stack_files, target

IGNORED = ("__defaults", "tagsAll")
"""Properties that say nothing of their own: the engine's notes, and `tags` once more with the provider's."""


@dataclass(frozen=True)
class Property:
    """One property: its path, its value in the state, its value in the cloud; None where there is none."""

    path: str
    recorded: Any
    real: Any


@dataclass(frozen=True)
class Drift:
    """One resource that is not as recorded. change: changed or removed; a changed secret shows no property."""

    name: str
    type: str
    urn: str
    change: str
    properties: list[Property] = field(default_factory=list[Property])


def drift(name: str, *, as_json: bool) -> None:
    """Print how the cloud differs from a stack's state; Stop with code DRIFT where it does."""
    stack_files.file(name)
    sandbox = target.in_sandbox(name)
    with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
        found = existing(name, workspace)
        if found is None:
            raise Stop(Exit.FAILED, f"stack {name} was never built; `mullion up {name}` does")
        for lock in locks.held(name, backend()):
            gone = f"a run that is gone; `mullion up {name}` clears up" if lock.dead else "a run that is under way"
            raise Stop(Exit.REFUSED, f"stack {name} is locked by {lock}: {gone}; its state is not complete")
        drifts = look(found)
    if as_json:
        print(json.dumps([asdict(each) for each in drifts], indent=2))
    else:
        print("\n".join(line for each in drifts for line in lines(each)) or f"{name} is as recorded")
    if drifts:
        many = f"{len(drifts)} resource{'s are' if len(drifts) > 1 else ' is'} not as recorded"
        flag = " --sandbox" if sandbox else ""
        raise Stop(Exit.DRIFT, f"{many}; to put it right: mullion up {name}{flag} --refresh")


def look(run: auto.Stack) -> list[Drift]:
    """Ask the cloud about every resource of a stack."""
    drifts: list[Drift] = []
    tally = Tally()

    def hear(event: auto.EngineEvent) -> None:
        tally.hear(event)
        if event.res_outputs_event and (each := _of(event.res_outputs_event.metadata)):
            drifts.append(each)

    with failures.reported(run.name, tally):
        run.preview_refresh(on_event=hear, show_secrets=False, color="never")
    return sorted(drifts, key=lambda each: each.urn)


def lines(each: Drift) -> Iterator[str]:
    """Say how one resource differs."""
    yield f"{each.change} {each.name} ({each.type})"
    for one in each.properties:
        yield f"  {one.path}: {_text(one.recorded)} -> {_text(one.real)}"
    if each.change == "changed" and not each.properties:
        yield "  a secret value, or one that the state does not hold"


def compare(old: Any, new: Any, path: str = "") -> Iterator[Property]:
    """Give the properties that differ; paths as the engine writes them: a.b[0].c."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            if name not in IGNORED:
                yield from compare(old.get(name), new.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from compare(one, other, f"{path}[{index}]")
    elif old != new and (old or new):
        yield Property(path, old, new)


def _of(metadata: auto.StepEventMetadata) -> Drift | None:
    step = step_of(metadata)
    if step.type.startswith(SILENT) or step.op not in ("update", "delete", "retain"):
        return None
    if step.op != "update" or not metadata.old or not metadata.new:
        return Drift(step.name, step.type, step.urn, "removed")
    given = list(compare(metadata.old.inputs, metadata.new.inputs))
    return Drift(
        step.name,
        step.type,
        step.urn,
        "changed",
        given or list(compare(metadata.old.outputs, metadata.new.outputs)),
    )


def _text(value: Any) -> str:
    return "nothing" if value is None else value if isinstance(value, str) else json.dumps(value)
