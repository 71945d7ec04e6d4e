"""Which expressions hold objects that ConvertFrom-Json made, followed through variables, pipelines and functions."""

from tests.powershell_lint.context import Context
from tests.powershell_lint.inference import bare, member, targets
from tests.powershell_lint.rules_commands import given, own_parameters
from tests.powershell_lint.trees import Node, Script

SOURCES = {"convertfrom-json", "invoke-hnsrequest"}
"""Commands whose output is what a JSON text says."""
TREES = {"convertto-tree"}
"""Functions that make hashtables of such objects."""
PASSING = {"where-object", "select-object", "sort-object"}
"""Commands that pass objects on as they are."""
BLOCKS = ("FunctionDefinitionAst", "ScriptBlockExpressionAst")


class Documents:
    """Judges expressions of the scripts of one scope."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[Node, bool] = {}
        self._values: dict[tuple[Node | None, str], list[Node]] = {}
        for script in context.scripts.values():
            for node in script.root.all("AssignmentStatementAst"):
                for variable, _ in targets(node):
                    self._held(node, variable, node.children[-1])
            for node in script.root.all("ForEachStatementAst"):
                self._held(node, node.children[0], node.children[1])
            for node in script.root.all("CommandAst"):
                self._taken(node, script)

    def _held(self, node: Node, variable: Node, value: Node) -> None:
        self._values.setdefault((node.above(*BLOCKS), bare(variable.value)), []).append(value)

    def _taken(self, call: Node, script: Script) -> None:
        """Add the arguments of a call to the values of the function's parameters."""
        function = self._context.functions.get(call.value.lower())
        if not function or call.value.lower() in TREES:
            return
        names = own_parameters(function)
        args = given(call, script, None)
        starts = {text: [each for each in names if each.lower().startswith(text)] for text in args.values}
        named = {full[0]: args.values[text] for text, full in starts.items() if full}
        places = [each for each in names if each not in named]
        for name, value in [*named.items(), *zip(places, args.words, strict=False)]:
            self._values.setdefault((function, bare(name)), []).append(value)

    def holds(self, node: Node) -> bool:
        """Return whether an expression can hold an object of a JSON text."""
        inner = node.inner()
        if inner not in self._known:
            self._known[inner] = False  # of an expression that leads back to itself
            self._known[inner] = self._holds(inner)
        return self._known[inner]

    def _holds(self, node: Node) -> bool:
        match node.kind:
            case "CommandAst":
                return self._command(node)
            case "PipelineAst":
                return self._pipeline(node)
            case "VariableExpressionAst":
                return self._variable(node)
            case "MemberExpressionAst":
                held = node.children[0].inner()
                return self.holds(held) and member(node).lower() not in ("psobject", "count", "length")
            case "IndexExpressionAst" | "ArrayExpressionAst" | "SubExpressionAst" | "StatementBlockAst":
                return any(
                    self.holds(each) for each in node.children[: 1 if node.kind == "IndexExpressionAst" else None]
                )
            case "ArrayLiteralAst" | "NamedBlockAst":
                return any(self.holds(each) for each in node.children)
            case "IfStatementAst" | "TryStatementAst":
                return any(self.holds(each) for each in node.children if each.kind == "StatementBlockAst")
            case "ReturnStatementAst":
                return any(self.holds(each) for each in node.children)
            case _:
                return False

    def _command(self, node: Node) -> bool:
        name = node.value.lower()
        if name in SOURCES:
            return True
        function = self._context.functions.get(name)
        return function is not None and name not in TREES and self._block(function)

    def _block(self, block: Node) -> bool:
        """Return whether a function or script block puts out such an object."""
        returned = any(self.holds(each) for each in block.all("ReturnStatementAst") if each.above(*BLOCKS) is block)
        ends = [each for each in block.all("NamedBlockAst") if each.above(*BLOCKS) is block]
        return returned or any(
            self.holds(one) for end in ends for one in end.children if one.kind != "AssignmentStatementAst"
        )

    def _pipeline(self, node: Node) -> bool:
        found = False
        for stage in node.children:
            name = stage.value.lower() if stage.kind == "CommandAst" else ""
            if name == "foreach-object":
                found = any(self._block(each) for each in stage.all("ScriptBlockExpressionAst"))
            elif name not in PASSING:
                found = self.holds(stage)
        return found

    def _variable(self, node: Node) -> bool:
        name = bare(node.value)
        if name == "_":
            return self._piped(node)
        scope: Node | None = node
        while scope:
            scope = scope.above(*BLOCKS)
            values = self._values.get((scope, name))
            if values:
                return any(self.holds(each) for each in values)
        return any(self.holds(each) for each in self._values.get((None, name), []))

    def _piped(self, node: Node) -> bool:
        """Return whether `$_` holds such an object: the stage before its block puts one out."""
        block = node.above("ScriptBlockExpressionAst")
        stage = block.parent if block else None
        line = stage.parent if stage else None
        if not stage or not line or stage.kind != "CommandAst" or line.kind != "PipelineAst":
            return False
        for before in reversed(line.children[: line.children.index(stage)]):
            if before.kind == "CommandAst" and before.value.lower() in PASSING:
                continue
            if before.kind == "CommandAst" and before.value.lower() == "foreach-object":
                return any(self._block(each) for each in before.all("ScriptBlockExpressionAst"))
            return self.holds(before)
        return False
