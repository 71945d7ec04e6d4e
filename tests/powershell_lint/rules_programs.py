"""Rules about files, programs and the web: defaults of 5.1 that newer versions changed."""

from collections.abc import Iterator

from tests.powershell_lint.catalogue import commands
from tests.powershell_lint.context import FOUND, Context
from tests.powershell_lint.inference import member
from tests.powershell_lint.rules_commands import NATIVE, Given, given
from tests.powershell_lint.trees import Node, Script

WRITERS = {"set-content", "add-content", "out-file", "export-csv", "export-clixml"}
READERS = {"get-content", "import-csv", "select-string"}
NEWER = ("utf8nobom", "utf8bom", "ansi", "oemcp")
"""Encodings that came with 6 and 7.4."""
WEB = {"invoke-webrequest", "invoke-restmethod"}
WEB_TYPES = {"net.http.httpclient", "net.webrequest", "net.webclient", "net.httpwebrequest"}


def _has(args: Given, name: str) -> bool:
    return any(name.startswith(one.lower()) for _, one in args.named if len(one) > 1)


def encodings(script: Script, context: Context) -> Iterator[FOUND]:
    """Find files that are read or written in the default encoding: UTF-16 or the system's code page in 5.1."""
    for call in script.root.all("CommandAst"):
        name = call.value.lower()
        args = given(call, script, commands().get(name))
        if name in WRITERS | READERS and not _has(args, "encoding") and not args.partly:
            yield call.line, f"{call.value} without -Encoding uses another encoding than PowerShell 7"
        encoding = args.values.get("encoding")
        if encoding and encoding.value.lower() in NEWER:
            yield call.line, f"{call.value}: the encoding {encoding.value} is not in 5.1"
    for node in script.root.all("FileRedirectionAst"):
        if node.children and node.children[0].text.lower() != "$null":
            yield node.line, "> writes UTF-16 in 5.1"


def _native(call: Node, context: Context) -> bool:
    """Return whether a call starts a program, or may: `& $path` with a variable."""
    name = call.value.lower()
    if name:
        return name.endswith(NATIVE)
    held = call.children[0].inner()
    if call.more != "Ampersand" or held.kind != "VariableExpressionAst":
        return False
    values = [each for each in context.types.values(held) if isinstance(each, Node)]
    return "program" in held.value.lower() or any(each.value.lower().endswith(NATIVE) for each in values)


def programs(script: Script, context: Context) -> Iterator[FOUND]:
    """Find redirected errors of programs, which end a script under Stop, and arguments that 5.1 breaks."""
    for call in script.root.all("CommandAst"):
        if not _native(call, context):
            continue
        for part in call.children[1:]:
            if part.kind in ("FileRedirectionAst", "MergingRedirectionAst") and part.value in ("Error", "All"):
                yield part.line, "redirecting errors of a program throws NativeCommandError under Stop in 5.1"
            if part.kind in ("StringConstantExpressionAst", "ExpandableStringExpressionAst"):
                if part.more != "BareWord" and not part.value:
                    yield part.line, "5.1 drops an empty argument of a program"
                if '"' in part.value.replace('\\"', ""):
                    yield part.line, '5.1 does not escape " in an argument of a program'


def web(script: Script, context: Context) -> Iterator[FOUND]:
    """Find web requests that need Internet Explorer, or are made before TLS 1.2 is on."""
    for call in script.root.all("CommandAst"):
        if call.value.lower() in WEB:
            args = given(call, script, commands()[call.value.lower()])
            if not _has(args, "usebasicparsing"):
                yield call.line, f"{call.value} without -UseBasicParsing needs Internet Explorer in 5.1"
        waits = call.value.lower() == "start-process" and _has(given(call, script, commands()["start-process"]), "wait")
        if waits:
            yield call.line, "Start-Process -Wait waits for all programs that the program starts too"
    if not context.secure and not _sets_tls(script, context):
        uses = [each for each in script.root.all("TypeExpressionAst") if _plain(each.value) in WEB_TYPES]
        uses += [each for each in script.root.all("CommandAst") if each.value.lower() in WEB]
        for node in uses[:1]:
            yield node.line, "5.1 offers no TLS 1.2 by default: set [Net.ServicePointManager]::SecurityProtocol before"


def _plain(name: str) -> str:
    return name.lower().removeprefix("system.")


def _sets_tls(script: Script, context: Context) -> bool:
    """Return whether every way to load the script sets SecurityProtocol, in this script or in one before it."""
    orders = [order for order in context.loads.values() if script.path in order]
    return all(
        any(_assigns_tls(context.scripts[path].root) for path in order[: order.index(script.path) + 1])
        for order in orders
    )


def _assigns_tls(root: Node) -> bool:
    for node in root.all("AssignmentStatementAst"):
        left = node.children[0]
        if left.kind == "MemberExpressionAst" and member(left).lower() == "securityprotocol":
            return "tls12" in node.children[-1].text.lower() and not node.above("FunctionDefinitionAst")
    return False


RULES = (encodings, programs, web)
