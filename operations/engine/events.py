"""What the engine says while it works, reduced to what a person follows: resources begun and finished, and errors."""

import re
from collections import Counter
from dataclasses import dataclass, field

from pulumi import automation as auto

DONE = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
    "create-replacement": "created anew",
    "delete-replaced": "deleted for its replacement",
    "read": "read",
    "import": "imported",
    "retain": "left in place",
}
"""Operations worth a line, and how it says them. `replace` is no step of its own: its create and delete are. `retain`
is our name for the delete of a resource that the cloud keeps."""

SILENT = ("mullion:", "pulumi:providers:", "pulumi:pulumi:")
"""Beginnings of types that no cloud makes: components, providers, the stack. They are not counted."""

CLUSTER = "mullion:index:MixedCluster"
"""Type of the component that the stack file's warnings are about."""

_COLOURS = re.compile(r"<\{%.*?%\}>")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Step:
    """One operation on one resource."""

    op: str
    type: str
    name: str
    urn: str


@dataclass
class Tally:
    """Where a run is. total: resources, without SILENT ones, that the engine will look at; 0 where unknown."""

    total: int = 0
    seen: set[str] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)
    awaited: dict[str, Step] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    failed: list[auto.StepEventMetadata] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What the engine and the program's hooks warn of; not what the stack file warns of, which is said before."""

    @property
    def count(self) -> str:
        """Resources finished, of how many: 12/87."""
        return f"{len(self.seen)}/{max(self.total, len(self.seen))}" if self.total else str(len(self.seen))

    def hear(self, event: auto.EngineEvent) -> Step | None:
        """Take in an event. Return the step that it finishes, if it does and the step is worth a line."""
        if event.resource_pre_event:
            step = step_of(event.resource_pre_event.metadata)
            if step.op in DONE and not step.type.startswith(SILENT):
                self.awaited[step.urn] = step
        elif event.res_outputs_event:
            return self._finish(step_of(event.res_outputs_event.metadata))
        elif event.res_op_failed_event:
            self.failed.append(event.res_op_failed_event.metadata)
            self.awaited.pop(self.failed[-1].urn, None)
        elif event.policy_event and event.policy_event.enforcement_level == "mandatory":
            self.errors.append(violation(event.policy_event))
        elif event.diagnostic_event and event.diagnostic_event.severity == "error":
            self._fault(event.diagnostic_event)
        elif event.diagnostic_event and event.diagnostic_event.severity == "warning":
            text = _plain(event.diagnostic_event.message)
            if (event.diagnostic_event.urn or "").split("::")[2:3] != [CLUSTER] and text not in self.warnings:
                self.warnings.append(text)
        return None

    def _finish(self, step: Step) -> Step | None:
        self.awaited.pop(step.urn, None)
        if step.type.startswith(SILENT):
            return None
        self.seen.add(step.urn)
        if step.op not in DONE:
            return None
        self.done[step.op] += 1
        return step

    def _fault(self, event: auto.DiagnosticEvent) -> None:
        text = _plain(event.message)
        # what the program raised comes with its traceback; its last line says it
        if "Traceback (most recent call last)" in text:
            text = text.splitlines()[-1]
        _, _, name = (event.urn or "").rpartition("::")
        if text in ("update failed", "preview failed", "") or any(text in each for each in self.errors):
            return
        own = not name or "pulumi:pulumi:Stack" in (event.urn or "")
        self.errors.append(text if own else f"{name} ({_type(event.urn or '')}): {text}")

    def summary(self) -> str:
        """Say what was done: 85 created, 2 updated; or no changes."""
        return ", ".join(f"{self.done[op]} {word}" for op, word in DONE.items() if self.done[op]) or "no changes"


def step_of(metadata: auto.StepEventMetadata) -> Step:
    """Return the step that an event is about."""
    op = getattr(metadata.op, "value", metadata.op)
    if op in ("delete", "delete-replaced") and metadata.old and metadata.old.retain_on_delete:
        op = "retain"
    return Step(op, metadata.type, metadata.urn.rpartition("::")[2], metadata.urn)


def _plain(text: str) -> str:
    return _CONTROLS.sub("", _COLOURS.sub("", text)).strip()


def _type(urn: str) -> str:
    parts = urn.split("::")
    return parts[2].rpartition("$")[2] if len(parts) > 3 else urn


def violation(event: auto.PolicyEvent) -> str:
    """Say what a broken rule says, on one line: resource, what is wrong, the rule's name."""
    # the engine puts the rule's description before the message
    said = event.message.strip().splitlines()[-1]
    who = (event.resource_urn or "").rpartition("::")[2]
    return f"{who}: {said.removeprefix(f'{who}: ')} [{event.policy_name}]"
