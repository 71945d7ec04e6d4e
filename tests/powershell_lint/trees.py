"""Syntax trees of PowerShell scripts, read by PowerShell's own parser on a Windows machine."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.boot.windows.winpwsh import Machine

PARSER = Path(__file__).with_name("parse.ps1")
CALLS = ("InvokeMemberExpressionAst", "MemberExpressionAst")
"""Kinds of nodes with a member: `.Name` or `::Name`, with and without arguments."""


@dataclass(eq=False)
class Node:
    """One node of a syntax tree (System.Management.Automation.Language.Ast); `kind` is its class."""

    kind: str
    parent: "Node | None"
    text: str
    start: int
    line: int
    values: list[str]
    children: list["Node"] = field(default_factory=list)

    @property
    def value(self) -> str:
        """Return what parse.ps1 says of this kind first: operator, name, type or text."""
        return self.values[0] if self.values and self.values[0] else ""

    @property
    def more(self) -> str:
        """Return what parse.ps1 says of this kind second."""
        return self.values[1] if len(self.values) > 1 and self.values[1] else ""

    @property
    def end(self) -> int:
        """Return the offset behind the node."""
        return self.start + len(self.text)

    def all(self, *kinds: str) -> Iterator["Node"]:
        """Yield this node and those below it, in the order of the text; of these kinds if any are given."""
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            if not kinds or node.kind in kinds:
                yield node
            todo.extend(reversed(node.children))

    def above(self, *kinds: str) -> "Node | None":
        """Return the nearest node above of one of these kinds."""
        node = self.parent
        while node and node.kind not in kinds:
            node = node.parent
        return node

    def inner(self) -> "Node":
        """Return the expression inside parentheses, single pipelines and statements."""
        node = self
        while node.kind in ("ParenExpressionAst", "PipelineAst", "CommandExpressionAst") and len(node.children) == 1:
            node = node.children[0]
        return node


@dataclass
class Script:
    """One script: its path below the folder of all scripts, its tree, parse errors and tokens of operators."""

    path: str
    text: str
    root: Node
    errors: list[tuple[int, str]]
    tokens: list[tuple[int, str, str]]

    @property
    def functions(self) -> list[Node]:
        """Return the definitions of functions."""
        return list(self.root.all("FunctionDefinitionAst"))


def _tree(rows: list[list[Any]], text: str) -> Node:
    nodes: list[Node] = []
    for kind, parent, start, end, line, *values in rows:
        above = nodes[int(parent)] if int(parent) >= 0 else None
        nodes.append(Node(kind, above, text[int(start) : int(end)], int(start), int(line), values))
        if above:
            above.children.append(nodes[-1])
    return nodes[0]


def parse(machine: Machine, texts: Mapping[str, str]) -> dict[str, Script]:
    """Return the scripts by path (`modules/run.ps1`), from their texts by path."""
    folder = machine.path(r"C:\scripts")
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode("utf-8"))
    machine.path(r"C:\parse.ps1").write_bytes(PARSER.read_bytes())
    code, said = machine.pwsh(r"& C:\parse.ps1", 240)
    assert code == 0, said
    read: dict[str, Any] = json.loads(machine.path(r"C:\trees.json").read_text("utf-8"))
    return {
        path: Script(
            path,
            texts[path],
            _tree(nodes, texts[path]),
            [(int(line), words) for line, words in errors],
            [(int(line), kind, words) for line, kind, words in tokens],
        )
        for path, (nodes, errors, tokens) in read.items()
    }
