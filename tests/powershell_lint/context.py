"""What a rule knows beside one script: the other scripts of its scope, types of variables, and the order of loading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from posixpath import dirname, join, normpath

from tests.powershell_lint.inference import Types
from tests.powershell_lint.trees import Node, Script

FOUND = tuple[int, str]
"""Line and text of a finding."""


@dataclass(eq=False)
class Context:
    """Scripts that run in one scope; `entries` are those that something starts. Equal only to itself, so hashable."""

    scripts: dict[str, Script]
    entries: list[str]
    forbidden: dict[str, str]
    """Commands that these scripts must not use, with the reason, by name in lower case."""
    secure: bool = False
    """Whether the scripts only make requests without TLS."""
    documented: bool = True
    """Whether functions need CmdletBinding and comment help."""
    dropped: frozenset[str] = frozenset()
    """Functions, in lower case, that the scripts name but never call here."""
    types: Types = field(init=False)
    functions: dict[str, Node] = field(init=False)
    loads: dict[str, list[str]] = field(init=False)
    """Paths in load order, by entry; the entry itself is the last."""

    def __post_init__(self) -> None:
        self.types = Types(self.scripts.values())
        self.functions = {one.value.lower(): one for script in self.scripts.values() for one in script.functions}
        self.loads = {entry: list(dict.fromkeys(self._loaded(entry))) for entry in self.entries}

    def _loaded(self, path: str) -> Iterator[str]:
        for call in self.scripts[path].root.all("CommandAst"):
            if call.more == "Dot":
                for one in self._sourced(path, call.children[0]):
                    yield from self._loaded(one)
        yield path

    def _sourced(self, path: str, named: Node) -> list[str]:
        """Return the paths that a dot-sourcing names, in the order of Windows' folder listing."""
        patterns = [named.value]
        if named.kind == "VariableExpressionAst":
            loop = named.above("ForEachStatementAst")
            if not loop:
                return []
            texts = [one.value for one in loop.children[1].all("ExpandableStringExpressionAst")]
            outer = loop.above("ForEachStatementAst")
            folders = [one.value for one in outer.children[1].all("StringConstantExpressionAst")] if outer else [""]
            variable = "$" + (outer.children[0].value if outer else "")
            patterns = [text.replace(variable, folder) + "/*.ps1" for folder in folders for text in texts]
        assert all("$PSScriptRoot" in each for each in patterns), f"{path}:{named.line}: what does this load?"
        found: list[str] = []
        for pattern in patterns:
            place = normpath(join(dirname(path), re.sub(r"^\$PSScriptRoot\W", "", pattern).replace("\\", "/")))
            matching = [each for each in sorted(self.scripts) if fnmatch(each, place)]
            assert matching, f"{path}:{named.line}: {place} is no script"
            found += matching
        return found
