"""The HTML of a report: one file, without scripts and outside references."""

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from components.rollout.plain_text import plain
from operations.engine.progress import duration

FOLDER = Path(__file__).parent

LONGEST_OPEN = 12
"""Machines up to which a pool's table is unfolded."""


def html(contents: dict[str, Any]) -> str:
    """Return the page. contents: the values that report.html.j2 names; it escapes each of them."""
    template, digest = _template()
    return template.render(contents, style_digest=digest, longest_open=LONGEST_OPEN)


@lru_cache(maxsize=1)
def _template() -> tuple[Template, str]:
    """Return the template, and the digest of its style sheet for the Content-Security-Policy."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters.update(duration=duration, money=_money, number=_number)
    sheet = environment.get_template("report.css").render()
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return environment.get_template("report.html.j2"), digest


def _printable(value: Any) -> Any:
    """Return a value of the template without characters that HTML forbids or that hide text."""
    return value if isinstance(value, Markup) else plain(value)


def _money(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f}"


def _number(value: float) -> str:
    """Return a number for people: 1,234 or 0.5."""
    return f"{value:,.10g}"
