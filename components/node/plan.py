"""NodePlan: the desired state of a pool's machines, as data."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Literal

from components.node.kinds import KINDS, TUNING, Step, check
from components.node.kinds.values import NAMES, URL

FORMAT = 1
"""Version of the plan format; an executor refuses any other."""


EGRESS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "proxy": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"http": URL, "https": URL, "no_proxy": NAMES},
        },
        "trusted_cas": NAMES,
    },
}
"""Type of the plan's member `egress`."""


class Scope(str, Enum):
    """Whether a phase can be baked into an image."""

    IMAGE = "image"
    NODE = "node"


@dataclass(frozen=True)
class Phase:
    """Steps that run in order."""

    name: str
    scope: Scope
    steps: tuple[Step, ...]
    reports: Literal["registered"] | None = None
    """State in the machine's status record once the phase is over; a finished run reports that of the last phase."""

    def document(self) -> dict[str, Any]:
        """Return the phase as in plan.json."""
        reports = {"reports": self.reports} if self.reports else {}
        return {
            "name": self.name,
            "scope": self.scope.value,
            **reports,
            "steps": [each.document() for each in self.steps],
        }


@dataclass(frozen=True)
class NodePlan:
    """The plan of a pool's machines. Changes of `registration` (labels, taints) are applied in the running cluster."""

    role: str
    pool: str
    os: str
    phases: tuple[Phase, ...]
    registration: dict[str, Any] = field(default_factory=dict[str, Any])

    egress: dict[str, Any] = field(default_factory=dict[str, Any])
    """Proxy and authorities for the executor's downloads: {"proxy": {"http", ...}, "trusted_cas": [PEM]}."""
    kubernetes: str = ""
    """Kubernetes version for the machine's status record, or empty."""

    def __post_init__(self) -> None:
        """Check the plan as a whole; each step was checked on its own.

        Raises ValueError with every duplicate step, steps not allowed on the system or in an image, and wrong members.
        """
        wrong = [*_doubles(self.steps), *check.problems(self.egress, EGRESS, "egress")]
        wrong += [
            text for phase in self.phases for step in phase.steps for text in _misplaced(step, phase, self.system)
        ]
        if wrong:
            raise ValueError(f"node plan of {self.pool}: {'; '.join(wrong)}")

    @property
    def system(self) -> Literal["linux", "windows"]:
        """Return the executor: linux or windows."""
        return "windows" if self.os.startswith("windows") else "linux"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return all steps of all phases in order."""
        return tuple(each for phase in self.phases for each in phase.steps)

    def document(self) -> dict[str, Any]:
        """Return the content of plan.json."""
        return {
            "format": FORMAT,
            "role": self.role,
            "pool": self.pool,
            "os": self.os,
            "registration": self.registration,
            **({"egress": self.egress} if self.egress else {}),
            **({"kubernetes": self.kubernetes} if self.kubernetes else {}),
            "phases": [phase.document() for phase in self.phases],
        }

    @cached_property
    def replace_digest(self) -> str:
        """Return the sha256 (hex) of all steps whose change replaces workers, without the executor's tuning fields."""
        replacing = [part for each in self.steps if (part := each.replacing()) is not None]
        return hashlib.sha256(canonical([self.os, replacing])).hexdigest()


def canonical(document: Any) -> bytes:
    """Return JSON with sorted keys and no spaces: equal documents give equal bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def references(document: Any) -> list[str]:
    """Return the names of all references in a document."""
    return list(check.references(document))


def _doubles(steps: tuple[Step, ...]) -> Iterator[str]:
    names = [each.name for each in steps]
    yield from (
        f"the name of step {name!r} is not unique" for name in sorted({each for each in names if names.count(each) > 1})
    )


def _misplaced(step: Step, phase: Phase, system: str) -> Iterator[str]:
    """Yield what the step may not have on this system or in an image phase."""
    kind = KINDS[step.kind]
    foreign = [name for name in step.fields if system not in {**kind.fields, **TUNING}[name].systems]
    if system not in kind.systems or foreign:
        yield f"step {step.name!r}: {system} has no {step.kind} {' '.join(foreign)}".rstrip()
    if phase.scope is Scope.IMAGE:
        held = sorted(set(references(step.fields)))
        if held or not kind.image:
            yield f"step {step.name!r} of image phase {phase.name!r} belongs to one machine: {step.kind} {held}"
