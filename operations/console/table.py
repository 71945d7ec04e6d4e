"""Tables in plain text."""

from collections.abc import Iterable, Sequence

from components.rollout.plain_text import plain


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "  ") -> str:
    """Return columns two spaces apart, numbers aligned right. Control characters in cells are removed."""
    body = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *body, strict=True)]
    right = [all(row[index].replace(",", "").isdigit() for row in body) for index in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        columns = zip(cells, widths, right, strict=True)
        return indent + "  ".join(
            f"{cell:>{width}}" if number else f"{cell:<{width}}" for cell, width, number in columns
        )

    return "\n".join(line(row).rstrip() for row in [list(headers), *body])
