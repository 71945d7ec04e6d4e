"""A change of one of the project's own scripts that breaks one rule."""

from dataclasses import dataclass

from tests.powershell_lint.scopes import SCOPES


@dataclass(frozen=True)
class Mutation:
    """One change of a script: the first `old` becomes `new`."""

    path: str
    old: str
    new: str
    expects: str
    """Part of the finding's text."""
    at: str = ""
    """Text whose first line has the finding; empty: the changed line."""

    @property
    def scope(self) -> str:
        """Return the name of the script's scope."""
        return self.path if self.path in SCOPES else "node"

    @property
    def source(self) -> str:
        """Return the script as it is."""
        return SCOPES[self.scope].texts[self.path]

    @property
    def text(self) -> str:
        """Return the changed script."""
        return self.source.replace(self.old, self.new, 1)

    @property
    def line(self) -> int:
        """Return the line of the finding."""
        place = self.text.index(self.at) if self.at else self.source.index(self.old)
        return self.text[:place].count("\n") + 1
