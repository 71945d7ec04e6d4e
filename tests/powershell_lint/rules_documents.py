"""Rules about properties that an object may lack: reading one ends a script in strict mode."""

from collections.abc import Iterator
from functools import lru_cache

from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.documents import BLOCKS, Documents
from tests.powershell_lint.framework import members
from tests.powershell_lint.inference import bare, member
from tests.powershell_lint.tables import DOCUMENTED
from tests.powershell_lint.trees import Node, Script

TABLES = ("System.Collections.Hashtable", "System.Collections.Specialized.OrderedDictionary")


@lru_cache(maxsize=2)
def _documents(context: Context) -> Documents:
    return Documents(context)


def _checks(below: Node, name: str) -> bool:
    """Return whether a function asks `.PSObject.Properties['name']`."""
    return any(
        "psobject.properties" in index.children[0].text.lower() and index.children[1].value.lower() == name
        for index in below.all("IndexExpressionAst")
    )


def _catches(function: Node) -> bool:
    """Return whether a function catches what a script block throws that it calls."""
    return any(call.more == "Ampersand" and call.above("TryStatementAst") for call in function.all("CommandAst"))


def _caught(node: Node, context: Context) -> bool:
    """Return whether a `try` of the same function, or the function that gets the script block, catches errors."""
    above = node.parent
    while above and above.kind != "FunctionDefinitionAst":
        if above.kind == "TryStatementAst" and above.children[0].start <= node.start < above.children[0].end:
            return True
        call = above.parent if above.kind == "ScriptBlockExpressionAst" else None
        function = context.functions.get(call.value.lower()) if call and call.kind == "CommandAst" else None
        if function and _catches(function):
            return True
        above = above.parent
    return False


def missing_properties(script: Script, context: Context) -> Iterator[FOUND]:
    """Find properties of parsed JSON that are read without a look whether the document has them."""
    documents = _documents(context)
    known = {*DOCUMENTED[""].split(), *DOCUMENTED.get(script.path, "").split()}
    for node in script.root.all("MemberExpressionAst"):
        name = member(node).lower()
        if not name or name in (*known, "psobject", "count", "length") or node.values[0] == "True":
            continue
        whole = node.above("FunctionDefinitionAst") or script.root
        if documents.holds(node.children[0]) and not _checks(whole, name) and not _caught(node, context):
            yield (
                node.line,
                f"{node.text}: a JSON text may lack {member(node)}, ask .PSObject.Properties['{name}'] before",
            )


@lru_cache(maxsize=2)
def _keys(context: Context) -> set[str]:
    """Return the keys of all hashtables of the scripts, and the keys that scripts set, in lower case."""
    found: set[str] = set()
    for script in context.scripts.values():
        for table in script.root.all("HashtableAst"):
            found.update(key.value.lower() for key in table.children[::2])
        for node in script.root.all("AssignmentStatementAst"):
            left = node.children[0]
            if left.kind in ("IndexExpressionAst", "MemberExpressionAst"):
                found.add(left.children[1].value.lower())
    return found


def missing_keys(script: Script, context: Context) -> Iterator[FOUND]:
    """Find `.Key` of hashtables that no script gives that key, and of trees of a JSON text, which may lack it."""
    keys = _keys(context)
    indexed = {
        (index.above(*BLOCKS), bare(index.children[0].value))
        for index in script.root.all("IndexExpressionAst")
        if index.children[0].kind == "VariableExpressionAst" and index.children[1].kind == "StringConstantExpressionAst"
    }
    for node in script.root.all("MemberExpressionAst"):
        name, holder = member(node), node.children[0].inner()
        if not name or node.values[0] == "True" or members(TABLES[0], name) or name.lower() == "psobject":
            continue
        by_key = holder.kind == "VariableExpressionAst" and (node.above(*BLOCKS), bare(holder.value)) in indexed
        if context.types.of(holder) in TABLES and name.lower() not in keys:
            yield node.line, f"{node.text}: no hashtable of these scripts has the key {name}"
        elif by_key:
            yield node.line, f"{node.text} ends a script if the key is missing, {holder.text}['{name}'] is $null"


RULES = (missing_properties, missing_keys)
