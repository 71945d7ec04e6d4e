"""Steps: one thing each that must be true of a machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components.node.kinds.check import problems
from components.node.kinds.model import Kind, OnChange
from components.node.kinds.table import KINDS, TUNING


@dataclass(frozen=True)
class Step:
    """One thing that must be true of the machine. ValueError says what its kind does not allow."""

    kind: str
    name: str
    fields: dict[str, Any]
    on_change: OnChange | None = None
    """None: as its kind and fields say."""

    def __post_init__(self) -> None:
        """Check the fields against the table."""
        kind = KINDS.get(self.kind)
        wrong = [f"{self.kind!r} is no kind"] if kind is None else list(_wrong(kind, self.fields))
        if wrong:
            raise ValueError(f"step {self.name!r} of kind {self.kind}: {'; '.join(wrong)}")

    def document(self) -> dict[str, Any]:
        """As it stands in plan.json."""
        return {"kind": self.kind, "name": self.name, **self.fields}

    def replacing(self) -> dict[str, Any] | None:
        """The part that replaces workers when it changes, or None. Its name is none: it is for people."""
        kind = KINDS[self.kind]
        if (self.on_change or kind.on_change) is not OnChange.REPLACE:
            return None
        known = {**kind.fields, **TUNING}
        replacing = {k: v for k, v in self.fields.items() if known[k].on_change in (None, OnChange.REPLACE)}
        return {"kind": self.kind, **replacing}


def step(kind: str, name: str, /, *, on_change: OnChange | None = None, **fields: Any) -> Step:
    """A step of a kind with its fields. ValueError names what is missing, unknown or of another type."""
    return Step(kind, name, fields, on_change)


def _wrong(kind: Kind, fields: dict[str, Any]) -> Iterator[str]:
    known = {**kind.fields, **TUNING}
    missing = [name for name, field in kind.fields.items() if field.required and name not in fields]
    unknown = [name for name in fields if name not in known]
    if missing or unknown:
        yield f"missing {missing}, unknown {unknown}"
    for name, value in fields.items():
        if name in known:
            yield from problems(value, known[name].type, name)
    for when in kind.whens:
        if fields.get(when.field) == when.value:
            for name, kind_of_value in when.types.items():
                if name in fields:
                    yield from problems(fields[name], kind_of_value, name)
