"""NodePlan: everything a machine of one role and pool must become, as data."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, cast

from components.node.kinds import KINDS, REFERENCES, Step

FORMAT = 1
"""Version of the plan format; an executor refuses any other."""


class Scope(str, Enum):
    """Whether a phase can be baked into an image."""

    IMAGE = "image"
    NODE = "node"


@dataclass(frozen=True)
class Phase:
    """Steps that belong together, run in order."""

    name: str
    scope: Scope
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class NodePlan:
    """What a machine becomes. `registration` (labels, taints) is reconciled in the cluster and replaces nothing."""

    role: str
    pool: str
    os: str
    phases: tuple[Phase, ...]
    registration: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse plans no executor could run: double step names, kinds of another system, unknown references."""
        system = "windows" if self.os.startswith("windows") else "linux"
        names = [each.name for each in self.steps]
        double = {name for name in names if names.count(name) > 1}
        foreign = [each.name for each in self.steps if system not in KINDS[each.kind].systems]
        unknown = [name for each in self.steps for name in references(each.fields) if name not in REFERENCES]
        if double or foreign or unknown:
            raise ValueError(f"{self.pool}: steps twice {double}, not for {system} {foreign}, unknown refs {unknown}")

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all phases, in order."""
        return tuple(each for phase in self.phases for each in phase.steps)

    def document(self) -> dict[str, Any]:
        """plan.json."""
        return {
            "format": FORMAT,
            "role": self.role,
            "pool": self.pool,
            "os": self.os,
            "registration": self.registration,
            "phases": [
                {"name": p.name, "scope": p.scope.value, "steps": [s.document() for s in p.steps]} for p in self.phases
            ],
        }

    @cached_property
    def replace_digest(self) -> str:
        """sha256 over what replaces workers: steps marked so, without the executor's tuning fields."""
        replacing = [part for each in self.steps if (part := each.replacing()) is not None]
        return hashlib.sha256(canonical([self.os, replacing])).hexdigest()


def canonical(document: Any) -> bytes:
    """JSON with sorted keys and no spaces: equal documents give equal bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def references(document: Any) -> list[str]:
    """Names of all references anywhere in a document."""
    if isinstance(document, dict):
        fields = cast(dict[str, Any], document)
        if set(fields) == {"ref"}:
            return [fields["ref"]]
        return [name for value in fields.values() for name in references(value)]
    if isinstance(document, list | tuple):
        return [name for value in cast(Sequence[Any], document) for name in references(value)]
    return []
