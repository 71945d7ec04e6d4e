"""Rules about the language: syntax of 5.1, variables that exist, and the project's own rules for functions."""

import re
from collections.abc import Iterator

from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.inference import bare
from tests.powershell_lint.tables import AUTOMATIC, VERBS
from tests.powershell_lint.trees import Node, Script

NEW_NODES = {"TernaryExpressionAst": "?:", "PipelineChainAst": "a chain of && or ||"}
NUMBER = re.compile(r"\d(?:u?y|us?|ul|n)$", re.IGNORECASE)
"""Suffixes of numbers that came with 6.2 and 7 (about_Numeric_Literals)."""
ESCAPE = re.compile(r"(?<!`)(?:``)*`(e|u\{)")
"""Escapes that came with 6 (about_Special_Characters)."""


def syntax(script: Script, context: Context) -> Iterator[FOUND]:
    """Find syntax that only newer versions read."""
    yield from script.errors
    for line, kind, text in script.tokens:
        if kind.startswith("Question"):
            yield line, f"{text} is not in 5.1"
        if kind == "LeadingPipe":
            yield line, "5.1 does not continue a pipeline on a line that begins with |"
        if kind == "Number" and NUMBER.search(text) and not text.lower().startswith("0x"):
            yield line, f"the suffix of {text} is not in 5.1"
    for node in script.root.all():
        if node.kind in NEW_NODES:
            yield node.line, f"{NEW_NODES[node.kind]} is not in 5.1"
        if node.kind == "PipelineAst" and node.value == "True":
            yield node.line, "& behind a command is not in 5.1"
        if node.kind == "NamedBlockAst" and node.value == "Clean":
            yield node.line, "the block clean is not in 5.1"
        if node.kind == "ExpandableStringExpressionAst" and ESCAPE.search(node.text):
            yield node.line, "the escape `e or `u{} is not in 5.1"


def _assigned(context: Context) -> set[str]:
    """Return the names of variables that the scripts set anywhere, in lower case."""
    names: set[str] = set()
    for script in context.scripts.values():
        for node in script.root.all(
            "AssignmentStatementAst", "ParameterAst", "ForEachStatementAst", "ConvertExpressionAst"
        ):
            if node.kind == "ConvertExpressionAst" and node.children[0].value.lower() != "ref":
                continue
            if node.kind == "ParameterAst":
                holder = next(each for each in node.children if each.kind == "VariableExpressionAst")
            else:
                holder = node.children[-1] if node.kind == "ConvertExpressionAst" else node.children[0]
            names.update(bare(each.value) for each in holder.all("VariableExpressionAst"))
    return names


def variables(script: Script, context: Context) -> Iterator[FOUND]:
    """Find variables that nothing sets: reading one ends a script in strict mode."""
    known = _assigned(context)
    for node in script.root.all("VariableExpressionAst"):
        name = bare(node.value)
        drive = ":" in name
        if not drive and name not in known and name not in AUTOMATIC and not name.isdigit():
            yield node.line, f"${node.value} is set by no script, and not by 5.1"


def _documented(function: Node) -> Iterator[str]:
    if function.value.partition("-")[0] not in VERBS:
        yield f"{function.value} has no approved verb"
    body = function.children[-1]
    block = next((each for each in body.children if each.kind == "ParamBlockAst"), None)
    if not block or "CmdletBinding" not in [each.value for each in block.children]:
        yield f"{function.value} has no CmdletBinding"
    if not function.more:
        yield f"{function.value} has no comment help"


def functions(script: Script, context: Context) -> Iterator[FOUND]:
    """Find functions without an approved verb, CmdletBinding or comment help."""
    for function in script.functions if context.documented else []:
        for words in _documented(function):
            yield function.line, words


RULES = (syntax, variables, functions)
