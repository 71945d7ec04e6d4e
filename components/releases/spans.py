"""Tables of names with the minors that have them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.releases.order import within


@dataclass(frozen=True)
class Span:
    """Names of one kind that the minors from `first` to `last` have; "" is no bound."""

    kind: str
    first: str
    last: str
    names: tuple[str, ...]

    def covers(self, minor: str) -> bool:
        """Return whether the minor has the names."""
        return within(minor, self.first, self.last)


Spans = tuple[Span, ...]


def spans(text: str) -> Spans:
    """Return the rows of a text of lines `kind first-last: name name ...`; kind is optional, indented lines
    continue.
    """
    rows = text.strip().replace("\n  ", " ").splitlines()
    return tuple(_rows(rows))


def known(table: Spans, minor: str) -> Mapping[str, str]:
    """Return every name that the minor has, with its kind."""
    return {name: span.kind for span in table if span.covers(minor) for name in span.names}


def _rows(rows: list[str]) -> Iterator[Span]:
    for row in rows:
        head, _, names = row.partition(":")
        kind, _, minors = head.rpartition(" ")
        first, _, last = minors.partition("-")
        yield Span(kind, first, last, tuple(names.split()))
