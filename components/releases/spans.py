"""Names with the minors that know them: the form that long tables are written in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.releases.order import within


@dataclass(frozen=True)
class Span:
    """Names of one kind, known from the minor `first` to the minor `last`; empty: without end on that side."""

    kind: str
    first: str
    last: str
    names: tuple[str, ...]

    def covers(self, minor: str) -> bool:
        """Whether the minor knows the names."""
        return within(minor, self.first, self.last)


Spans = tuple[Span, ...]


def spans(text: str) -> Spans:
    """The rows of a table written as `kind first-last: name name ...`; kind may be left out, indented lines go on."""
    rows = text.strip().replace("\n  ", " ").splitlines()
    return tuple(_rows(rows))


def known(table: Spans, minor: str) -> Mapping[str, str]:
    """Every name that the minor knows, and its kind."""
    return {name: span.kind for span in table if span.covers(minor) for name in span.names}


def _rows(rows: list[str]) -> Iterator[Span]:
    for row in rows:
        head, _, names = row.partition(":")
        kind, _, minors = head.rpartition(" ")
        first, _, last = minors.partition("-")
        yield Span(kind, first, last, tuple(names.split()))
