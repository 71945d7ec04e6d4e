"""Engine events, reduced to the progress of resources, errors and warnings."""

import re
import time
from collections import Counter
from dataclasses import dataclass, field, replace

from pulumi import automation as auto

from components.rollout.plain_text import plain
from components.rollout.upgrade import SECOND_RUN
from operations.clouds import cloud_tables
from operations.engine import hints

DONE = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
    "create-replacement": "created as replacement",
    "delete-replaced": "deleted as replaced",
    "read": "read",
    "import": "imported",
    "retain": "kept in the cloud",
}
"""Operations that get a line of progress, and their words. `replace` is missing: the engine reports it as a create and
a delete. `retain` is Mullion's name for the delete of a resource that stays in the cloud."""

SILENT = ("mullion:", "pulumi:providers:", "pulumi:pulumi:")
"""Prefixes of types that exist only in the state (components, providers, the stack); they are not counted."""

OBJECTS = frozenset(cloud.stored for cloud in cloud_tables.CLOUDS.values())
"""Types of objects in buckets."""
CLUSTER = "mullion:index:MixedCluster"
"""Type of the component that repeats the stack file's warnings."""
POLICY_STARTER = "using pulumi-analyzer-policy-python from $PATH"
"""The engine's warning about the starter of the policy pack, which `policy_preview.environment` puts on PATH."""

_COLOURS = re.compile(r"<\{%.*?%\}>")


@dataclass(frozen=True)
class Step:
    """One operation on one resource."""

    op: str
    type: str
    name: str
    urn: str


@dataclass
class Tally:
    """Progress of a run. total: resources that the engine will visit, without SILENT ones; 0 if unknown.

    removal: the run removes the cluster; objects that the engine leaves go with their bucket, so they count as deleted.
    """

    total: int = 0
    removal: bool = False
    seen: set[str] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)
    awaited: dict[str, Step] = field(default_factory=dict)
    begun: dict[str, float] = field(default_factory=dict)
    """Time at which each awaited step began, by URN, in seconds of `time.monotonic`."""
    errors: list[str] = field(default_factory=list)
    failed: list[auto.StepEventMetadata] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Warnings of the engine and of hooks. Left out: those of the stack file, printed before the run, and the request
    for the second stage of an upgrade, which the command starts itself."""

    @property
    def count(self) -> str:
        """Return finished and total resources: 12/87."""
        return f"{len(self.seen)}/{max(self.total, len(self.seen))}" if self.total else str(len(self.seen))

    def hear(self, event: auto.EngineEvent) -> Step | None:
        """Record an event. Return the step that it finishes, or None if it finishes none or the step gets no line."""
        if event.resource_pre_event:
            step = step_of(event.resource_pre_event.metadata)
            if step.op in DONE and not step.type.startswith(SILENT):
                self.awaited[step.urn], self.begun[step.urn] = step, time.monotonic()
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
            repeated = (event.diagnostic_event.urn or "").split("::")[2:3] == [CLUSTER] or text in self.warnings
            if not repeated and not text.startswith(POLICY_STARTER) and SECOND_RUN not in text:
                self.warnings.append(text)
        return None

    def _finish(self, step: Step) -> Step | None:
        self.awaited.pop(step.urn, None)
        if step.type.startswith(SILENT):
            return None
        self.seen.add(step.urn)
        if step.op not in DONE:
            return None
        if self.removal and step.op == "retain" and step.type in OBJECTS:
            step = replace(step, op="delete")
        self.done[step.op] += 1
        return step

    def _fault(self, event: auto.DiagnosticEvent) -> None:
        text = _plain(event.message)
        # an exception of the program comes with its traceback; the last line is its message
        if "Traceback (most recent call last)" in text:
            text = text.splitlines()[-1]
        _, _, name = (event.urn or "").rpartition("::")
        if text in ("update failed", "preview failed", "") or any(text in error for error in self.errors):
            return
        of_stack = not name or "pulumi:pulumi:Stack" in (event.urn or "")
        whole = f"{name} ({_type(event.urn or '')}): {text}{hints.of(event.urn or '', text)}"
        self.errors.append(text if of_stack else whole)

    def summary(self) -> str:
        """Return what the run did, such as "85 created, 2 updated", or "no changes"."""
        counts = Counter(
            {word: self.done[op] for op, word in DONE.items() if not op.endswith(("replacement", "replaced"))}
        )
        # a replacement is a create and a delete; an interrupted run has finished only one of them
        counts["replaced"] = self.done["create-replacement"]
        counts["deleted"] += max(0, self.done["delete-replaced"] - self.done["create-replacement"])
        words = ("created", "updated", "replaced", "deleted", "read", "imported", "kept in the cloud")
        return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "no changes"


def step_of(metadata: auto.StepEventMetadata) -> Step:
    """Return the step of an event."""
    op = getattr(metadata.op, "value", metadata.op)
    if op in ("delete", "delete-replaced") and metadata.old and metadata.old.retain_on_delete:
        op = "retain"
    return Step(op, metadata.type, metadata.urn.rpartition("::")[2], metadata.urn)


def _plain(text: str) -> str:
    return plain(_COLOURS.sub("", text.replace("\r\n", "\n")), keep="\n\t").strip()


def _type(urn: str) -> str:
    parts = urn.split("::")
    return parts[2].rpartition("$")[2] if len(parts) > 3 else urn


def violation(event: auto.PolicyEvent) -> str:
    """Return a policy violation on one line: resource, message, name of the rule."""
    # the engine puts the rule's description before the message
    message = event.message.strip().splitlines()[-1]
    name = (event.resource_urn or "").rpartition("::")[2]
    return f"{name}: {message.removeprefix(f'{name}: ')} [{event.policy_name}]"
