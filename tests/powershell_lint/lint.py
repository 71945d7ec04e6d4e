"""The lint: all rules over the scripts that run in one scope."""

from dataclasses import dataclass

from tests.powershell_lint import (
    rules_arguments,
    rules_commands,
    rules_documents,
    rules_framework,
    rules_language,
    rules_programs,
    rules_values,
)
from tests.powershell_lint.context import Context
from tests.powershell_lint.trees import Script

RULES = tuple(
    rule
    for module in (
        rules_language,
        rules_commands,
        rules_arguments,
        rules_framework,
        rules_values,
        rules_documents,
        rules_programs,
    )
    for rule in module.RULES
)


@dataclass(frozen=True, order=True)
class Finding:
    """One broken rule."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def lint_script(script: Script, context: Context) -> set[Finding]:
    """Return what one script breaks."""
    return {Finding(script.path, line, text) for rule in RULES for line, text in rule(script, context)}


def lint(context: Context) -> list[Finding]:
    """Return what the scripts of a scope break, by path and line."""
    return sorted(finding for script in context.scripts.values() for finding in lint_script(script, context))
