"""Types of expressions, as far as a script alone says them."""

from collections.abc import Iterable

from tests.powershell_lint.framework import members, resolve, split
from tests.powershell_lint.trees import CALLS, Node, Script

STRING, BOOL = "System.String", "System.Boolean"
UNKNOWN = "?"
"""Type of an expression that has several or that no rule can tell."""
COMPARES = ("Is", "IsNot", "And", "Or", "Xor")
SCOPES = ("global:", "script:", "local:", "private:")


def bare(name: str) -> str:
    """Return a variable's name in lower case, without its scope."""
    text = name.lower()
    for scope in SCOPES:
        text = text.removeprefix(scope)
    return text


def member(node: Node) -> str:
    """Return the name of the member that `.Name` or `::Name` reads or calls; empty if it is computed."""
    named = node.children[1]
    return named.value if named.kind == "StringConstantExpressionAst" else ""


def targets(node: Node) -> list[tuple[Node, Node | None]]:
    """Return the variables that an assignment sets, each with its value; None if the value is not alone."""
    left, right = node.children[0], node.children[-1].inner()
    while left.kind in ("ConvertExpressionAst", "AttributedExpressionAst"):
        if left.kind == "ConvertExpressionAst":
            right = left
        left = left.children[-1]
    if left.kind == "VariableExpressionAst":
        return [(left, right if node.value == "Equals" or right.kind == "ConvertExpressionAst" else None)]
    if left.kind != "ArrayLiteralAst":
        return []
    pairs = right.children if right.kind == "ArrayLiteralAst" and len(right.children) == len(left.children) else []
    names = [each for each in left.children if each.kind == "VariableExpressionAst"]
    return [(each, pairs[place].inner() if pairs else None) for place, each in enumerate(names)]


class Types:
    """The types of variables of scripts that run in one scope."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self._values: dict[tuple[Node | None, str], list[Node | str | None]] = {}
        self._busy: set[Node] = set()
        for script in scripts:
            for node in script.root.all():
                self._read(node)

    def _read(self, node: Node) -> None:
        scope = node.above("FunctionDefinitionAst")
        if node.kind == "AssignmentStatementAst":
            left = node.children[0]
            kept = resolve(left.children[0].value) if left.kind == "ConvertExpressionAst" else None
            for variable, value in targets(node):
                self._add(None if "script:" in variable.value.lower() else scope, variable, kept or value)
        elif node.kind == "ParameterAst":
            typed = [each.value for each in node.children if each.kind == "TypeConstraintAst"]
            variable = next(each for each in node.children if each.kind == "VariableExpressionAst")
            block = node.above("FunctionDefinitionAst", "ScriptBlockExpressionAst")
            self._add(block, variable, (resolve(typed[-1]) if typed else None) or UNKNOWN)
        elif node.kind == "ForEachStatementAst":
            self._add(scope, node.children[0], UNKNOWN)
        elif node.kind == "ConvertExpressionAst" and node.children[0].value.lower() == "ref":
            self._add(scope, node.children[-1].inner(), UNKNOWN)

    def _add(self, scope: Node | None, variable: Node, value: Node | str | None) -> None:
        self._values.setdefault((scope, bare(variable.value)), []).append(value)

    def values(self, variable: Node) -> list[Node | str | None]:
        """Return all values that are assigned to a variable in its function, or else outside of functions.

        A text is the type that the variable is declared with, which it keeps; None is a value that is not alone.
        """
        scope: Node | None = variable
        while scope:
            scope = scope.above("FunctionDefinitionAst", "ScriptBlockExpressionAst")
            if found := self._values.get((scope, bare(variable.value))):
                return found
            if scope and scope.kind == "FunctionDefinitionAst":
                break
        return self._values.get((None, bare(variable.value)), [])

    def static(self, node: Node) -> str | None:
        """Return the type that an expression names: `[Type]`, or a variable that always holds it."""
        inner = node.inner()
        if inner.kind == "TypeExpressionAst":
            return resolve(inner.value)
        if inner.kind != "VariableExpressionAst":
            return None
        values = self.values(inner)
        found = {resolve(each.value) for each in values if isinstance(each, Node) and each.kind == "TypeExpressionAst"}
        return found.pop() if len(found) == 1 and len(values) == 1 else None

    def of(self, node: Node) -> str | None:
        """Return the full name of an expression's type; None: it is not known."""
        inner = node.inner()
        if inner in self._busy:
            return None
        self._busy.add(inner)
        try:
            return self._of(inner)
        finally:
            self._busy.discard(inner)

    def _of(self, node: Node) -> str | None:
        match node.kind:
            case "StringConstantExpressionAst" | "ExpandableStringExpressionAst":
                return STRING
            case "ConstantExpressionAst":
                return node.value
            case "ArrayLiteralAst" | "ArrayExpressionAst":
                return "System.Object[]"
            case "HashtableAst":
                return "System.Collections.Hashtable"
            case "ConvertExpressionAst":
                return resolve(node.children[0].value)
            case "VariableExpressionAst":
                return self._variable(node)
            case "IndexExpressionAst":
                return self._element(node)
            case "BinaryExpressionAst":
                return self._binary(node)
            case "CommandAst":
                return made_type(node)
            case "IfStatementAst":
                return self._branches(node)
            case kind if kind in CALLS:
                return self._member(node)
            case _:
                return None

    def _variable(self, node: Node) -> str | None:
        if node.value.lower().startswith("env:") or node.value.lower() == "psscriptroot":
            return STRING
        values = self.values(node)
        kept = {each for each in values if isinstance(each, str)}
        if len(kept) == 1:
            return None if UNKNOWN in kept else kept.pop()
        found = {self.of(each) for each in values if isinstance(each, Node)} if None not in values else {None}
        return found.pop() if len(found) == 1 else None

    def _branches(self, node: Node) -> str | None:
        blocks = [each for each in node.children if each.kind == "StatementBlockAst"]
        found = {self.of(each.children[-1]) if each.children else None for each in blocks}
        return found.pop() if len(found) == 1 else None

    def _element(self, node: Node) -> str | None:
        of, place = self.of(node.children[0]), node.children[1].inner()
        one = place.kind in ("ConstantExpressionAst", "UnaryExpressionAst")
        if not of or not one:
            return None
        if of == STRING:
            return "System.Char"
        return of.removesuffix("[]") if of.endswith("[]") and not of.startswith("System.Object[") else None

    def _binary(self, node: Node) -> str | None:
        if node.value in ("Format", "Join"):
            return STRING
        if node.value in ("Isplit", "Csplit"):
            return "System.String[]"
        if node.value in COMPARES:
            return BOOL
        left = self.of(node.children[0])
        if node.value in ("Plus", "Ireplace", "Creplace") and left == STRING:
            return STRING
        if node.value == "As" and node.children[1].inner().kind == "TypeExpressionAst":
            return resolve(node.children[1].inner().value)
        return None

    def _member(self, node: Node) -> str | None:
        name, call = member(node), node.kind == "InvokeMemberExpressionAst"
        on_type = node.values[0] == "True"
        of = self.static(node.children[0]) if on_type else self.of(node.children[0])
        if not of or not name:
            return None
        if on_type and name.lower() == "new":
            return of
        if split(of)[2]:
            return None
        count = int(node.more) if call else 0
        fits = [each for each in members(of, name) if not each.any and each.method == call and each.static == on_type]
        found = {resolve(each.returns) for each in fits if not call or each.fits(count)}
        return found.pop() if len(found) == 1 else None


def made_type(call: Node) -> str | None:
    """Return the type of `New-Object Type`; None if the command is another, or its type is computed."""
    if call.value.lower() != "new-object" or len(call.children) < 2:
        return None
    words = [each for each in call.children[1:] if each.kind != "CommandParameterAst"]
    given = next((each for each in call.children if each.kind == "CommandParameterAst"), None)
    if given and given.value.lower().startswith("c"):
        return None
    return resolve(words[0].value) if words and words[0].kind == "StringConstantExpressionAst" else None
