"""Rules about .NET: types, members and overloads of .NET Framework 4.7.2, and assemblies loaded before their use."""

from collections.abc import Iterator

from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.framework import (
    Signature,
    assemblies,
    heirs,
    lacks,
    members,
    methods,
    resolve,
    split,
    wrong_parts,
)
from tests.powershell_lint.inference import member
from tests.powershell_lint.tables import ATTRIBUTES, AUTOMATION, EXTENDED, LOADED
from tests.powershell_lint.trees import CALLS, Node, Script

OPEN = {
    "System.Object", "System.Collections.Hashtable", "System.Collections.IDictionary", "System.Xml.XmlDocument",
    "System.Collections.Specialized.OrderedDictionary", "System.Management.Automation.PSObject",
    "System.Management.Automation.PSCustomObject",
}  # fmt: skip
"""Types whose properties are data: keys, JSON members, XML elements."""
CIM = {"getcimsessioninstanceid"}


def type_names(script: Script) -> Iterator[tuple[Node, str]]:
    """Yield the type names of a script: in brackets, of attributes, and in strings that PowerShell reads as types."""
    for node in script.root.all(
        "TypeExpressionAst", "TypeConstraintAst", "AttributeAst", "CommandAst", "BinaryExpressionAst"
    ):
        if node.kind == "CommandAst":
            words = [each for each in node.children[1:] if each.kind == "StringConstantExpressionAst"]
            com = any(
                each.value.lower().startswith("c") for each in node.children if each.kind == "CommandParameterAst"
            )
            if node.value.lower() == "new-object" and words and not com:
                yield words[0], words[0].value
        elif node.kind == "BinaryExpressionAst":
            right = node.children[1].inner()
            if node.value in ("As", "Is", "IsNot") and right.kind == "StringConstantExpressionAst":
                yield right, right.value
        elif node.kind != "AttributeAst" or node.value.lower() not in ATTRIBUTES:
            yield node, node.value


def unknown_types(script: Script, context: Context) -> Iterator[FOUND]:
    """Find names of types that .NET Framework and 5.1 do not have."""
    for node, name in type_names(script):
        for part in [] if resolve(name) else wrong_parts(name):
            yield node.line, f"type {part} is not in .NET Framework 4.7.2"
    for call in script.root.all("CommandAst"):
        if call.value.lower() == "new-object" and call.children[-1].kind == "ExpandableStringExpressionAst":
            yield call.line, "New-Object with a computed name cannot be judged: name each type"


def _added(call: Node) -> set[str]:
    """Return the assemblies that a call adds."""
    if call.kind == "CommandAst" and call.value.lower() == "add-type":
        return {each.value for each in call.children[1:] if each.kind == "StringConstantExpressionAst"}
    if call.kind == "InvokeMemberExpressionAst" and member(call).lower() in ("loadwithpartialname", "load"):
        return {each.value for each in call.children[2:] if each.kind == "StringConstantExpressionAst"}
    return set()


def _loads(below: Node) -> Iterator[tuple[Node, set[str]]]:
    for call in below.all("CommandAst", "InvokeMemberExpressionAst"):
        if added := _added(call):
            yield call, added


def _always(path: str, context: Context) -> list[set[str]]:
    """Return the assemblies that are loaded before a script's functions can run, by entry that loads the script."""
    found: list[set[str]] = []
    for order in context.loads.values():
        if path in order:
            before = [context.scripts[each].root for each in order[: order.index(path) + 1]]
            calls = [pair for root in before for pair in _loads(root)]
            found.append(set().union(*(added for call, added in calls if not call.above("FunctionDefinitionAst"))))
    return found or [set()]


def missing_assemblies(script: Script, context: Context) -> Iterator[FOUND]:
    """Find types whose assembly powershell.exe 5.1 does not load at its start and no script has added before."""
    needed = [
        (node, name, lacking)
        for node, name in type_names(script)
        if (full := resolve(name)) and (lacking := assemblies(full) - LOADED)
    ]
    if not needed:
        return
    everywhere = set[str].intersection(*_always(script.path, context))
    own = [(call, added) for call, added in _loads(script.root) if not call.above("FunctionDefinitionAst")]
    for node, name, lacking in needed:
        function = node.above("FunctionDefinitionAst")
        here = set().union(*(added for call, added in _loads(function or script.root) if call.start < node.start))
        later = set().union(*(added for call, added in own if call.start > node.start))
        for assembly in sorted(lacking):
            if assembly not in here and (assembly not in everywhere or (not function and assembly in later)):
                yield node.line, f"{name} needs Add-Type -AssemblyName {assembly} before it"


def _count(node: Node) -> int:
    return int(node.more) if node.kind == "InvokeMemberExpressionAst" else -1


def _on_known_type(of: str, name: str, count: int, static: bool) -> str:
    """Return what is wrong with a member of a type; empty: nothing."""
    short = of.removeprefix("System.")
    if static and name.lower() == "new" and split(of)[2]:
        return ""
    has = members(of, name)
    if not static and (not has or not any(each.fits(count) for each in has)):
        has += [each for heir in heirs(of) for each in members(heir, name)]
    if not has:
        return f"{short} has no {name} in .NET Framework 4.7.2"
    if static and name.lower() != "new" and not any(each.static or each.any for each in has):
        return f"{short} has no static {name} in .NET Framework 4.7.2"
    if count >= 0 and not any(each.fits(count) for each in has if each.method or each.any):
        return f"{short} has no {name} with {count} arguments in .NET Framework 4.7.2"
    return ""


def wrong_members(script: Script, context: Context) -> Iterator[FOUND]:
    """Find members and overloads that a type does not have; on unknown types, that no type has."""
    for node in script.root.all(*CALLS):
        name, static = member(node), node.values[0] == "True"
        if not name:
            continue
        of = context.types.static(node.children[0]) if static else context.types.of(node.children[0])
        if of and (static or not (of in OPEN or split(of)[2])):
            if wrong := _on_known_type(of, name, _count(node), static):
                yield node.line, wrong
        elif not static and node.kind == "InvokeMemberExpressionAst" and not _any_type_has(name, _count(node)):
            yield node.line, f"no type of .NET Framework 4.7.2 has {name} with {node.more} arguments"


def _any_type_has(name: str, count: int) -> bool:
    extended = " ".join([*EXTENDED.values(), *AUTOMATION.values()]).lower().split()
    return name.lower() in extended or any(each.fits(count) for each in methods().get(name.lower(), []))


def _texts(call: Node) -> list[tuple[int, Node]]:
    """Return places and nodes of the arguments that are constant texts."""
    given = [each.inner() for each in call.children[2:]]
    return [(place, each) for place, each in enumerate(given) if each.kind == "StringConstantExpressionAst"]


def _refused(overload: Signature, texts: list[tuple[int, Node]]) -> list[tuple[Node, str]]:
    """Return the texts, with the enumerations, that an overload cannot take."""
    kinds = [each.lstrip("?*") for each in overload.parameters]
    return [(text, kinds[place]) for place, text in texts if place < len(kinds) and lacks(kinds[place], text.value)]


def wrong_values(script: Script, context: Context) -> Iterator[FOUND]:
    """Find texts that PowerShell cannot convert to the enumeration that a method, a property or a cast takes."""
    for call in script.root.all("InvokeMemberExpressionAst"):
        static = call.values[0] == "True"
        of = (context.types.static if static else context.types.of)(call.children[0])
        fits = [each for each in members(of, member(call)) if each.method and each.fits(_count(call))] if of else []
        wrong = [_refused(each, _texts(call)) for each in fits]
        # of overloads that refuse equally many, the one that refuses the last argument is meant
        for text, kind in min(wrong, key=lambda each: (len(each), -each[0][0].start if each else 0), default=[]):
            yield text.line, f"'{text.value}' is not in {kind} of .NET Framework 4.7.2"
    for cast in script.root.all("ConvertExpressionAst"):
        kind, text = resolve(cast.children[0].value) or "", cast.children[1].inner()
        if text.kind == "StringConstantExpressionAst" and lacks(kind, text.value):
            yield cast.line, f"'{text.value}' is not in {kind} of .NET Framework 4.7.2"
    for binary in script.root.all("BinaryExpressionAst"):
        kind, text = context.types.of(binary.children[0]) or "", binary.children[1].inner()
        if text.kind == "StringConstantExpressionAst" and lacks(kind, text.value):
            yield binary.line, f"'{text.value}' is not in {kind} of .NET Framework 4.7.2"


RULES = (unknown_types, missing_assemblies, wrong_members, wrong_values)
