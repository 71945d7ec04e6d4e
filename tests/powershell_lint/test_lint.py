"""The lint finds nothing in the project's scripts for Windows Server, and each change that 5.1 would not run."""

from collections.abc import Mapping

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.powershell_lint.catalogue import commands
from tests.powershell_lint.context import Context
from tests.powershell_lint.framework import members
from tests.powershell_lint.inference import member
from tests.powershell_lint.lint import lint, lint_script
from tests.powershell_lint.mutations import MUTATIONS, Mutation
from tests.powershell_lint.rules_commands import wrong_calls
from tests.powershell_lint.rules_framework import missing_assemblies, type_names, unknown_types, wrong_members
from tests.powershell_lint.scopes import SCOPES
from tests.powershell_lint.trees import Script, parse

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

MANY = 30
"""Arguments that no overload takes, unless it takes any number."""
JUDGED = 0.7
"""Share of the calls of methods whose type the lint knows, at least; of others it judges name and count alone."""


@pytest.fixture(scope="module")
def parsed(parser: Machine) -> Mapping[str, Script]:
    """Return all scripts and all mutations, by FOLDER/path: a scope's name, or a mutation's number."""
    texts = {f"{name}/{path}": text for name, scope in SCOPES.items() for path, text in scope.texts.items()}
    texts |= {f"{number}/{each.path}": each.text for number, each in enumerate(MUTATIONS)}
    return parse(parser, texts)


def context(parsed: Mapping[str, Script], name: str, **changed: Script) -> Context:
    """Return a scope with real scripts, of which some are changed."""
    own = {path: parsed[f"{name}/{path}"] for path in SCOPES[name].texts}
    for path, script in own.items():
        script.path = path
    return SCOPES[name].context(own | changed)


@pytest.fixture(scope="module")
def node(parsed: Mapping[str, Script]) -> Context:
    """Return the scope of a node's scripts."""
    return context(parsed, "node")


@pytest.mark.parametrize("name", SCOPES)
def test_scripts_for_windows_run_under_5_1(parsed: Mapping[str, Script], name: str) -> None:
    assert [str(each) for each in lint(context(parsed, name))] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: f"{each.path}: {each.expects}")
def test_lint_finds_a_mutation_at_its_line(parsed: Mapping[str, Script], mutation: Mutation) -> None:
    assert mutation.old in mutation.source, "the script has changed: change the mutation"
    changed = parsed[f"{MUTATIONS.index(mutation)}/{mutation.path}"]
    changed.path = mutation.path
    found = lint_script(changed, context(parsed, mutation.scope, **{mutation.path: changed}))
    fitting = [each for each in found if each.line == mutation.line and mutation.expects in each.text]
    assert fitting, (mutation.line, sorted(map(str, found)))


def test_lint_finds_each_parameter_that_5_1_lacks(node: Context) -> None:
    tried = 0
    for script in node.scripts.values():
        for part in script.root.all("CommandParameterAst"):
            if part.parent and part.parent.value.lower() in commands():
                tried += 1
                kept, part.values = part.values, ["NoParameter"]
                found = list(wrong_calls(script, node))
                part.values = kept
                assert any(line == part.line and "-NoParameter" in text for line, text in found), part.text
    assert tried > 50


def test_lint_finds_each_type_that_net_framework_lacks(node: Context) -> None:
    tried = 0
    for script in node.scripts.values():
        for part, name in list(type_names(script)):
            tried += 1
            kept, part.values = part.values, ["No.Type", *part.values[1:]]
            found = list(unknown_types(script, node))
            part.values = kept
            assert (part.line, "type No.Type is not in .NET Framework 4.7.2") in found, name
    assert tried > 300


def test_lint_finds_each_method_that_net_framework_lacks(node: Context) -> None:
    tried = 0
    for script in node.scripts.values():
        for call in script.root.all("InvokeMemberExpressionAst"):
            if call.values[0] == "True" and not node.types.static(call.children[0]):
                continue  # a native function
            tried += 1
            named = call.children[1]
            kept, named.values = named.values, ["NoMethod", "BareWord"]
            found = list(wrong_members(script, node))
            named.values = kept
            assert any(line == call.line and "NoMethod" in text for line, text in found), call.text
    assert tried > 400


def test_lint_finds_each_call_with_too_many_arguments(node: Context) -> None:
    known = calls = 0
    for script in node.scripts.values():
        for call in script.root.all("InvokeMemberExpressionAst"):
            of = (node.types.static if call.values[0] == "True" else node.types.of)(call.children[0])
            calls += 1
            known += bool(of)
            if not of or of.endswith("]") or any(each.fits(MANY) for each in members(of, member(call))):
                continue
            kept, call.values = call.values, [call.values[0], str(MANY)]
            found = list(wrong_members(script, node))
            call.values = kept
            assert any(line == call.line and f"with {MANY} arguments" in text for line, text in found), call.text
    assert known / calls > JUDGED


def test_lint_finds_each_removed_add_type(node: Context) -> None:
    removed: list[str] = []
    for script in node.scripts.values():
        for call in script.root.all("CommandAst"):
            if call.value == "Add-Type" and "-AssemblyName" in call.text:
                kept, call.values = call.values, ["Removed", ""]
                found = [text for one in node.scripts.values() for _, text in missing_assemblies(one, node)]
                call.values = kept
                removed.append(call.children[-1].text)
                assert any(text.endswith(f"needs Add-Type -AssemblyName {removed[-1]} before it") for text in found)
    assert len(removed) > 4
