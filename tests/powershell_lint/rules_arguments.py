"""Rules about arguments: values that a parameter does not accept, and values that 5.1 cannot convert to its type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.powershell_lint.catalogue import accepted, commands
from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.framework import Signature, lacks, members, resolve, split
from tests.powershell_lint.inference import member
from tests.powershell_lint.rules_commands import given
from tests.powershell_lint.trees import Node, Script

STRING, TIMESPAN, BOOL = "System.String", "System.TimeSpan", "System.Boolean"
TABLES = {"System.Collections.Hashtable", "System.Collections.IDictionary"}
RANGES = {
    "System.Byte": (0, 2**8 - 1), "System.SByte": (-(2**7), 2**7 - 1),
    "System.Int16": (-(2**15), 2**15 - 1), "System.UInt16": (0, 2**16 - 1),
    "System.Int32": (-(2**31), 2**31 - 1), "System.UInt32": (0, 2**32 - 1),
    "System.Int64": (-(2**63), 2**63 - 1), "System.UInt64": (0, 2**64 - 1),
}  # fmt: skip
"""Smallest and largest value of whole numbers."""
FORMS = {
    TIMESPAN: re.compile(r"-?(\d+\.)?\d+(:\d+){1,2}(\.\d{1,7})?|-?\d+"),
    "System.Guid": re.compile(r"\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?"),
    "System.Version": re.compile(r"\d+(\.\d+){1,3}|Latest"),
    "System.Char": re.compile(r".", re.DOTALL),
}
"""Texts that 5.1 converts to a type. Set-StrictMode reads Latest."""
SINGLE = {STRING, BOOL, *RANGES, *FORMS}
"""Types of which a parameter takes one value and no list."""


@dataclass(frozen=True)
class Bound:
    """One argument that 5.1 binds to a parameter."""

    parameter: str
    kind: str
    """Full name of the parameter's type; empty: not known."""
    accepts: frozenset[str]
    """Values in lower case; empty: any."""
    value: Node


def options(node: Node, context: Context, seen: frozenset[Node] = frozenset()) -> Iterator[Node]:
    """Yield the expressions that a value can be: of branches, of a variable's assignments, of a list's members."""
    inner = node.inner()
    if inner in seen:
        return
    seen |= {inner}
    if inner.kind == "VariableExpressionAst":
        values = context.types.values(inner)
        if any(not isinstance(each, Node) for each in values):
            values = []
        inside = [each for each in values if isinstance(each, Node)]
    elif inner.kind == "IfStatementAst":
        blocks = [each for each in inner.children if each.kind == "StatementBlockAst"]
        inside = [each.children[-1] for each in blocks if each.children]
    elif inner.kind in ("ArrayLiteralAst", "ArrayExpressionAst", "StatementBlockAst"):
        inside = inner.children
    else:
        inside = []
    if not inside:
        yield inner
    for each in inside:
        yield from options(each, context, seen)


def _refused_text(kind: str, text: str) -> bool:
    if kind in RANGES:
        low, high = RANGES[kind]
        try:
            return not low <= int(text, 0) <= high
        except ValueError:
            return not re.fullmatch(r"-?\d+\.\d+|-?\d+[kmgt]b", text, re.IGNORECASE)
    return lacks(kind, text) or (kind in FORMS and not FORMS[kind].fullmatch(text))


def refused(kind: str, value: Node, context: Context) -> str:
    """Return why 5.1 does not convert an expression to a type; empty: it does, or the lint cannot tell."""
    of = context.types.of(value) or ""
    if value.kind == "StringConstantExpressionAst" and _refused_text(kind, value.value):
        return f"'{value.value}' is no {kind}"
    if kind in RANGES and value.kind == "ConstantExpressionAst" and of in RANGES and _refused_text(kind, value.more):
        return f"{value.more} is no {kind}"
    if kind == TIMESPAN and of in RANGES:
        return f"{value.text} is read as ticks of 100 nanoseconds"
    tables = {"System.Collections.Hashtable", "System.Collections.Specialized.OrderedDictionary"}
    simple = of in (STRING, BOOL, *RANGES)
    if (of in tables and kind in SINGLE - {STRING}) or (
        simple and kind in TABLES | {"System.Management.Automation.ScriptBlock"}
    ):
        return f"{of} is no {kind}"
    return ""


def _own(function: Node) -> dict[str, tuple[str, frozenset[str], bool]]:
    """Return type, accepted values and whether it is a switch, by name of a function's parameters."""
    found: dict[str, tuple[str, frozenset[str], bool]] = {}
    block = next((each for each in function.all("ParamBlockAst")), None)
    for row in (block or function).children:
        if row.kind != "ParameterAst":
            continue
        name = next(each.value for each in row.children if each.kind == "VariableExpressionAst")
        typed = [each.value for each in row.children if each.kind == "TypeConstraintAst"]
        sets = [each for each in row.children if each.kind == "AttributeAst" and each.value.lower() == "validateset"]
        values = frozenset(text.value.lower() for one in sets for text in one.all("StringConstantExpressionAst"))
        found[name] = ((resolve(typed[-1]) or "") if typed else "", values, typed[-1:] == ["switch"])
    return found


def _bound_own(call: Node, function: Node, script: Script) -> Iterator[Bound]:
    rows = _own(function)
    args = given(call, script, None)
    switches = [name.lower() for name, row in rows.items() if row[2]]
    words = [*args.words]
    for text, value in args.values.items():
        name = next((each for each in rows if each.lower().startswith(text)), "")
        if name.lower() in switches:
            words.append(value)
        elif name:
            yield Bound(name, *rows[name][:2], value)
    taken = {text for _, text in args.named}
    places = [each for each in rows if each.lower() not in switches]
    if not taken:
        for name, value in zip(places, words, strict=False):
            yield Bound(name, *rows[name][:2], value)


def bound(call: Node, script: Script, context: Context) -> Iterator[Bound]:
    """Yield the arguments of a call of a command of 5.1 or of a function of the scripts."""
    name = call.value.lower()
    if name in context.functions:
        yield from _bound_own(call, context.functions[name], script)
        return
    known = commands().get(name)
    if not known:
        return
    args = given(call, script, known)
    pairs = [(known.find(text), value) for text, value in args.values.items()]
    names = {known.find(text) for _, text in args.named}
    for one_set in known.sets[:1] if len(known.sets) == 1 else []:
        places = [each for each in one_set if each.positional and each not in names]
        pairs += zip(places, args.words, strict=False)
    for one, value in pairs:
        if one and not one.switch:
            yield Bound(one.name, resolve(one.type) or "", accepted(known.name, one.name), value)


def wrong_arguments(script: Script, context: Context) -> Iterator[FOUND]:
    """Find constant values that a command's parameter does not accept, and lists or texts that it cannot convert."""
    for call in script.root.all("CommandAst"):
        for one in bound(call, script, context):
            where = f"{call.value} -{one.parameter}"
            of = context.types.of(one.value) or ""
            if one.kind in SINGLE and of.endswith("[]"):
                yield one.value.line, f"{where} takes one value and no list"
            kind = one.kind.removesuffix("[]")
            for value in options(one.value, context):
                text = value.value if value.kind == "StringConstantExpressionAst" else ""
                parts = [each.strip().lower() for each in text.split(",") if text and not each.strip().isdigit()]
                if one.accepts and set(parts) - one.accepts:
                    yield value.line, f"{where} does not accept '{text}'"
                elif kind == BOOL and text:
                    yield value.line, f"{where}: 5.1 converts no text to bool"
                elif kind and (why := refused(kind, value, context)):
                    yield value.line, f"{where}: {why}"


def _overloads(call: Node, context: Context) -> list[Signature]:
    static = call.values[0] == "True"
    of = (context.types.static if static else context.types.of)(call.children[0])
    if not of or split(of)[2]:
        return []
    return [each for each in members(of, member(call)) if each.method and each.fits(int(call.more))]


def wrong_method_arguments(script: Script, context: Context) -> Iterator[FOUND]:
    """Find arguments of methods that no overload can convert."""
    for call in script.root.all("InvokeMemberExpressionAst"):
        wrong: list[list[FOUND]] = []
        for overload in _overloads(call, context):
            kinds = [each.lstrip("?*") for each in overload.parameters]
            pairs = zip(kinds, [each.inner() for each in call.children[2:]], strict=False)
            wrong.append(
                [
                    (value.line, why)
                    for kind, value in pairs
                    if not lacks(kind, "") or value.kind != "StringConstantExpressionAst"
                    if (why := refused(kind, value, context))
                ]
            )
        if wrong and all(wrong):
            line, why = min(wrong, key=len)[0]
            yield line, f"{member(call)}: {why}"


RULES = (wrong_arguments, wrong_method_arguments)
