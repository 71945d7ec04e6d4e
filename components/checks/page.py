"""Render docs/checks.md: every check, in one table per concern."""

from collections.abc import Sequence
from string import Formatter

from components.checks import CHECKS, TABLES
from components.spec.form import ROWS
from components.spec.report import Severity

HEADER = """# Checks

Written by `make generate` from the tables in `components/checks/` and `components/spec/form.py`.

Mullion checks the whole stack and reports all errors at once, each with its id, its path, what is wrong and what to
write instead; warnings follow once there is no error. Errors stop every command. `up` also stops at the warnings whose
text says so: at some until they are acknowledged, at others always. A warning is acknowledged by its id, with a reason:

```yaml
mullion:cluster:
  acknowledge:
    kubernetes-end-of-life: we move next month
```

Before it creates a cluster's first resource, `up` also reads the account's limits and enabled services, and stops if
they do not suffice. Acknowledge `account-limits` to turn these errors into warnings, for example while a request for
higher limits is pending.
"""

COLUMNS = ("id", "severity", "what is wrong", "what to do", "requirements")


def render() -> str:
    """Return the page, in Markdown."""
    parts = [HEADER, _counts(), "\n## Form of the stack file\n"]
    parts += [_table([(row.id, Severity.ERROR, row.wrong, row.fix, row.requirements) for row in ROWS])]
    for concern, rows in TABLES.items():
        parts.append(f"\n## {concern}\n")
        parts.append(_table([(row.id, row.severity, row.wrong, row.fix, row.requirements) for row in rows]))
    return "\n".join(parts)


def _counts() -> str:
    errors = sum(row.severity is Severity.ERROR for row in CHECKS) + len(ROWS)
    return f"{errors} errors, {len(CHECKS) + len(ROWS) - errors} warnings."


def _table(rows: Sequence[tuple[str, Severity, str, str, tuple[str, ...]]]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for slug, severity, wrong, fix, needs in rows:
        cells = (f"`{slug}`", severity.value, _readable(wrong), _readable(fix), " ".join(needs))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _readable(template: str) -> str:
    """Return a template with its values as *names*."""
    text = "".join(
        before + (f"*{name.replace('_', ' ')}*" if name else "") for before, name, _, _ in Formatter().parse(template)
    )
    return text.replace("|", "\\|")
