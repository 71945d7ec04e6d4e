"""Steps: each is one condition that a machine must fulfil."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components.node.kinds.check import problems
from components.node.kinds.model import Kind, OnChange
from components.node.kinds.table import KINDS, TUNING


@dataclass(frozen=True)
class Step:
    """One condition that the machine must fulfil. Raises ValueError with the fields that its kind does not allow."""

    kind: str
    name: str
    fields: dict[str, Any]
    on_change: OnChange | None = None
    """Effect of a change of the step; None: by its kind and fields."""

    def __post_init__(self) -> None:
        """Check the fields against the table."""
        kind = KINDS.get(self.kind)
        wrong = [f"{self.kind!r} is no kind"] if kind is None else list(_wrong(kind, self.fields))
        if wrong:
            raise ValueError(f"step {self.name!r} of kind {self.kind}: {'; '.join(wrong)}")

    def document(self) -> dict[str, Any]:
        """Return the step as in plan.json."""
        return {"kind": self.kind, "name": self.name, **self.fields}

    def replacing(self) -> dict[str, Any] | None:
        """Return the part of the step whose change replaces workers, or None; the name is excluded, it is a label."""
        kind = KINDS[self.kind]
        if (self.on_change or kind.on_change) is not OnChange.REPLACE:
            return None
        fields = {**kind.fields, **TUNING}
        replacing = {k: v for k, v in self.fields.items() if fields[k].on_change in (None, OnChange.REPLACE)}
        return {"kind": self.kind, **replacing}


def step(kind: str, name: str, /, *, on_change: OnChange | None = None, **fields: Any) -> Step:
    """Return a step of a kind. Raises ValueError with every field that is missing, unknown or of the wrong type."""
    return Step(kind, name, fields, on_change)


def _wrong(kind: Kind, fields: dict[str, Any]) -> Iterator[str]:
    defined = {**kind.fields, **TUNING}
    missing = [name for name, field in kind.fields.items() if field.required and name not in fields]
    unknown = [name for name in fields if name not in defined]
    if missing or unknown:
        yield f"missing {missing}, unknown {unknown}"
    for name, value in fields.items():
        if name in defined:
            yield from problems(value, defined[name].type, name)
    for when in kind.whens:
        if fields.get(when.field) == when.value:
            for name, kind_of_value in when.types.items():
                if name in fields:
                    yield from problems(fields[name], kind_of_value, name)
