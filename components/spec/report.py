"""Problems of a stack, and the error that holds them all."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """An error stops everything; a warning can be acknowledged with a reason."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """An error or a warning at one place of a stack.

    path: below `mullion:cluster` (`pools.web.kubelet.system_reserved.memory`), or a key of the stack file
    (`aws:region`). acknowledged: the reason in the stack for accepting this warning.
    """

    id: str
    path: str
    severity: Severity
    wrong: str
    fix: str
    acknowledged: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.wrong} [{self.id}]\n    {self.fix}"


class SpecError(Exception):
    """A stack with errors. `problems` holds the errors and, after them, the warnings."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        """source: name of the stack or file, for the first line of the message."""
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.severity is Severity.WARNING))
        super().__init__(source, self.problems)

    def __str__(self) -> str:
        errors = [problem for problem in self.problems if problem.severity is Severity.ERROR]
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        return "\n".join([f"{self.source}: {count}", *(f"  {error}" for error in errors)])
