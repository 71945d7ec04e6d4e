"""Rules about values that 5.1 reads otherwise than PowerShell 7: operators, JSON, lists, cultures."""

import re
from collections.abc import Iterator

from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.inference import member
from tests.powershell_lint.rules_commands import given
from tests.powershell_lint.trees import Node, Script

COMPARES = {
    *(case + name for case in "IC" for name in ("eq", "ne", "match", "notmatch", "like", "notlike", "in", "notin")),
    *(case + name for case in "IC" for name in ("contains", "notcontains", "gt", "ge", "lt", "le")),
}
"""Names of comparison operators, without and with regard to case (TokenKind)."""
NUMBERS = {"System.Double", "System.Single", "System.Decimal"}
CULTURED = {"System.DateTime", "System.DateTimeOffset", "System.TimeSpan", *NUMBERS}
"""Types whose text depends on the culture of the account."""
INVARIANT = re.compile(r"[oOrRsuxXdDeE]\d*|0+")
"""Formats whose result is the same in every culture (standard date formats o, r, s, u; x and d of whole numbers)."""
ITEM = re.compile(r"(?<!\{)\{\d+(?:,-?\d+)?:([^}]+)\}")
SEPARATED = re.compile(r"[yMdHhmsf]{2}|[NPCFnpcf]\d*$|[#0][.,][#0]")
"""Date parts, and number formats with a decimal separator."""
SINGLE_VALUED = ("Collection", "Dictionary", "Hashtable", "HashSet", "Queue", "List", "String", "ArrayList")


def joins(script: Script, context: Context) -> Iterator[FOUND]:
    """Find `-join` beside a comparison: both have one precedence, so `A -join ',' -eq B -join ','` joins a truth."""
    for node in script.root.all("BinaryExpressionAst"):
        for side in node.children[:2]:
            both = {node.value, side.value} if side.kind == "BinaryExpressionAst" else set[str]()
            if "Join" in both and both & COMPARES:
                yield node.line, "-join beside a comparison needs parentheses"


def _stage(call: Node) -> tuple[int, int]:
    """Return the place of a command in its pipeline, and how many stages that has."""
    stages = call.parent.children if call.parent and call.parent.kind == "PipelineAst" else [call]
    return stages.index(call), len(stages)


def read_json(script: Script, context: Context) -> Iterator[FOUND]:
    """Find ConvertFrom-Json whose output is enumerated: 5.1 emits a JSON array as one object, 7 its members."""
    for call in script.root.all("CommandAst"):
        if call.value.lower() != "convertfrom-json":
            continue
        place, count = _stage(call)
        if place < count - 1:
            yield call.line, "5.1 passes a JSON array on as one object: put ConvertFrom-Json into parentheses"
        block = call.parent.parent if call.parent and call.parent.kind == "PipelineAst" else None
        if place == count - 1 and block and block.parent and block.parent.kind == "ArrayExpressionAst":
            yield (
                call.line,
                "@(ConvertFrom-Json ...) has one member for a JSON array in 5.1: put ConvertFrom-Json into parentheses",
            )


def write_json(script: Script, context: Context) -> Iterator[FOUND]:
    """Find ConvertTo-Json without -Depth (default 2), and with input from a pipeline, which unwraps a list of one."""
    for call in script.root.all("CommandAst"):
        if call.value.lower() != "convertto-json":
            continue
        args = given(call, script, None)
        if not any("depth".startswith(name.lower()) for _, name in args.named):
            yield call.line, "ConvertTo-Json without -Depth cuts off below two levels"
        if _stage(call)[0]:
            yield call.line, "a list with one member from a pipeline becomes an object: use ConvertTo-Json -InputObject"


def _whole(value: Node, context: Context, seen: tuple[str, ...] = ()) -> bool:
    """Return whether an expression is one object with a count of its own, or no output of a command."""
    inner = value.inner()
    if inner.kind == "CommandAst":
        function = context.functions.get(inner.value.lower())
        if not function or inner.value.lower() in seen:
            return function is not None
        outputs = _outputs(function)
        return bool(outputs) and all(_counts(each, context, (*seen, inner.value.lower())) for each in outputs)
    return inner.kind not in ("PipelineAst", "IfStatementAst", "ForEachStatementAst", "SwitchStatementAst")


def _counts(output: Node, context: Context, seen: tuple[str, ...]) -> bool:
    inner = output.inner()
    if inner.kind == "CommandAst":
        return _whole(inner, context, seen)
    of = context.types.of(inner) or ""
    return inner.text.lstrip().startswith(",") or any(each in of for each in SINGLE_VALUED)


def _outputs(function: Node) -> list[Node]:
    """Return what a function returns: values of return statements, and the expressions that end its blocks."""
    found: list[Node] = []
    for node in function.all("ReturnStatementAst", "PipelineAst", "CommandExpressionAst"):
        if node.above("FunctionDefinitionAst") is not function or node.above("ScriptBlockExpressionAst"):
            continue
        if node.kind == "ReturnStatementAst":
            found += node.children
        elif node.parent and node.parent.kind in ("NamedBlockAst", "StatementBlockAst") and _emits(node):
            found.append(node)
    return found


def _emits(node: Node) -> bool:
    """Return whether a statement's value is output: not void, not a counter, and a command only if it is the last."""
    inner = node.inner()
    silent = inner.kind == "ConvertExpressionAst" and inner.children[0].value.lower() == "void"
    steps = inner.kind == "UnaryExpressionAst" and inner.value.startswith("Postfix")
    block = node.above(
        "ArrayExpressionAst", "SubExpressionAst", "AssignmentStatementAst", "HashtableAst", "FunctionDefinitionAst"
    )
    calls = inner.kind in ("CommandAst", "InvokeMemberExpressionAst")
    last = bool(node.parent) and node.parent.kind == "NamedBlockAst" and node.parent.children[-1] is node
    return not silent and not steps and (last or not calls) and bool(block) and block.kind == "FunctionDefinitionAst"


def counts(script: Script, context: Context) -> Iterator[FOUND]:
    """Find `.Count` and `.Length` of what a command returned: one object has neither in strict mode."""
    for node in script.root.all("MemberExpressionAst"):
        if member(node).lower() not in ("count", "length") or node.values[0] == "True":
            continue
        holder = node.children[0].inner()
        values = context.types.values(holder) if holder.kind == "VariableExpressionAst" else [holder]
        if any(isinstance(each, Node) and not _whole(each, context) for each in values):
            yield node.line, f"{node.text}: one object has no {member(node)} in strict mode, use @(...)"


def cultures(script: Script, context: Context) -> Iterator[FOUND]:
    """Find dates and numbers that are read or written in the culture of the account."""
    for node in script.root.all("BinaryExpressionAst", "InvokeMemberExpressionAst"):
        if node.kind == "BinaryExpressionAst":
            left = node.children[0].inner()
            text = left.value if node.value == "Format" and left.kind == "StringConstantExpressionAst" else ""
            for form in ITEM.findall(text):
                if not INVARIANT.fullmatch(form) and SEPARATED.search(form):
                    yield (
                        node.line,
                        f"-f writes {{:{form}}} in the culture of the account: use ToString(format, $Invariant)",
                    )
            continue
        yield from _cultured_call(node, context)


def _cultured_call(node: Node, context: Context) -> Iterator[FOUND]:
    name, static, count = member(node).lower(), node.values[0] == "True", int(node.more)
    of = context.types.static(node.children[0]) if static else context.types.of(node.children[0])
    if name in ("parse", "tryparse", "parseexact") and static and of in CULTURED:
        words = {"parse": 1, "tryparse": 2, "parseexact": 0}[name]
        if count <= words:
            yield node.line, f"{node.children[0].text}::{member(node)} reads in the culture of the account"
    if name == "tostring" and not static and of in CULTURED and count == 1:
        form = node.children[2].value
        if not INVARIANT.fullmatch(form):
            yield node.line, f"ToString('{form}') writes in the culture of the account"
    if name in ("tolower", "toupper") and not static and count == 0:
        yield node.line, f"{member(node)} depends on the culture of the account: use {member(node)}Invariant"


def splits(script: Script, context: Context) -> Iterator[FOUND]:
    """Find Split('word'): .NET Framework splits at each of its characters, .NET at the word."""
    for node in script.root.all("InvokeMemberExpressionAst"):
        first = node.children[2].inner() if len(node.children) > 2 else node
        text = first.value if first.kind == "StringConstantExpressionAst" else ""
        if member(node).lower() == "split" and node.values[0] != "True" and len(text) > 1:
            yield node.line, f"Split('{text}') splits at each of its characters in .NET Framework"


RULES = (joins, read_json, write_json, counts, cultures, splits)
