"""Rules about commands: each one and its parameters exist in Windows PowerShell 5.1, and it can bind them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.powershell_lint.catalogue import Command, aliases, commands
from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.inference import bare, targets
from tests.powershell_lint.tables import COMMON, VERBS
from tests.powershell_lint.trees import Node, Script

NATIVE = (".exe", ".bat", ".cmd", ".com")


@dataclass
class Given:
    """The arguments of a call."""

    named: list[tuple[Node, str]] = field(default_factory=list)
    """Node and name of parameters, splatted ones too."""
    words: list[Node] = field(default_factory=list)
    """Arguments without a name; those behind a name may be its value."""
    values: dict[str, Node] = field(default_factory=dict)
    """The argument of a parameter, splatted ones too, by its name as written, in lower case."""
    partly: bool = False
    """Whether a splatted variable may hold more than the script shows."""


def literal_pairs(variable: Node, script: Script) -> tuple[dict[str, Node], bool]:
    """Return keys and values of a variable that is a hashtable literal, and whether it may have others."""
    scope = variable.above("FunctionDefinitionAst") or script.root
    pairs: dict[str, Node] = {}
    partly, found = False, False
    for node in scope.all("AssignmentStatementAst"):
        left = node.children[0]
        if left.kind in ("IndexExpressionAst", "MemberExpressionAst") and bare(left.children[0].value) == bare(
            variable.value
        ):
            key = left.children[1]
            partly = True
            pairs |= {key.value: node.children[-1]} if key.kind == "StringConstantExpressionAst" else {}
        for name, value in targets(node):
            if bare(name.value) != bare(variable.value):
                continue
            if not value or value.kind != "HashtableAst":
                return {}, True
            found = True
            pairs |= {key.value: held for key, held in zip(value.children[::2], value.children[1::2], strict=True)}
    return pairs, partly or not found


def given(call: Node, script: Script, known: Command | None) -> Given:
    """Return a call's arguments."""
    found, name = Given(), ""
    for part in call.children[1:]:
        if part.kind in ("FileRedirectionAst", "MergingRedirectionAst"):
            continue
        if part.kind == "CommandParameterAst":
            found.named.append((part, part.value))
            one = known.find(part.value) if known else None
            name = "" if part.children or (one and one.switch) else part.value
            if part.children:
                found.values[part.value.lower()] = part.children[0]
        elif part.kind == "VariableExpressionAst" and part.more == "True":
            pairs, partly = literal_pairs(part, script)
            found.partly |= partly
            found.named += [(part, key) for key in pairs]
            found.values |= {key.lower(): value for key, value in pairs.items()}
            name = ""
        elif name:
            found.values[name.lower()], name = part, ""
        else:
            found.words.append(part)
    return found


def piped(call: Node) -> bool:
    """Return whether the call gets input from a pipeline."""
    return bool(call.parent and call.parent.kind == "PipelineAst" and call.parent.children[0] is not call)


def own_parameters(function: Node) -> list[str]:
    """Return the names of a function's parameters."""
    block = next((each for each in function.all("ParamBlockAst")), None)
    rows = [each for each in (block or function).children if each.kind == "ParameterAst"]
    return [next(each for each in row.children if each.kind == "VariableExpressionAst").value for row in rows]


def _own(call: Node, function: Node, script: Script) -> Iterator[FOUND]:
    known = Command(function.value, [])
    names = [*own_parameters(function), *COMMON, "Confirm", "WhatIf"]
    for node, name in given(call, script, known).named:
        starts = [each for each in names if each.lower().startswith(name.lower())]
        if len(starts) != 1 and name.lower() not in [each.lower() for each in names]:
            yield node.line, f"{function.value} has no parameter -{name}"


def _bound(call: Node, known: Command, script: Script) -> Iterator[FOUND]:
    args = given(call, script, known)
    names: set[str] = set()
    for node, name in args.named:
        one = known.find(name)
        if not one:
            yield node.line, f"{known.name} has no parameter -{name} in Windows PowerShell 5.1"
            return
        names.add(one.name)
    against, missing = known.fitting(names, len(args.words), piped(call), args.partly)
    if against:
        words = f" and {len(args.words)} more arguments" if args.words else ""
        yield call.line, f"{known.name} takes no -{' with -'.join(against)}{words}"
    if missing:
        yield call.line, f"{known.name} needs -{' and -'.join(missing)}"


def wrong_calls(script: Script, context: Context) -> Iterator[FOUND]:
    """Find commands, parameters and combinations of parameters that 5.1 does not have, and aliases."""
    for call in script.root.all("CommandAst"):
        name = call.value.lower()
        if not name or "\\" in name or call.more == "Dot":
            continue
        if name in context.forbidden:
            yield call.line, f"{call.value} is forbidden: {context.forbidden[name]}"
        if name in context.functions:
            yield from _own(call, context.functions[name], script)
        elif name in commands():
            yield from _bound(call, commands()[name], script)
        elif name in aliases():
            yield call.line, f"alias {call.value}"
        elif not name.endswith(NATIVE) and not name.endswith(".ps1"):
            yield call.line, f"{call.value} is no command of Windows PowerShell 5.1 and no function of these scripts"


def named_commands(script: Script, context: Context) -> Iterator[FOUND]:
    """Find texts that name a command, for a call later, which neither 5.1 nor these scripts have."""
    for text in script.root.all("StringConstantExpressionAst"):
        verb, _, noun = text.value.partition("-")
        named = text.more != "BareWord" and verb in VERBS and noun[:1].isupper() and noun.isalnum()
        known = {*context.functions, *context.dropped}
        if named and text.value.lower() not in commands() and text.value.lower() not in known:
            yield text.line, f"'{text.value}' is no command of Windows PowerShell 5.1 and no function of these scripts"


RULES = (wrong_calls, named_commands)
