"""Writes the facts that tests/powershell_lint compares scripts with: the API of .NET Framework, the cmdlets of 5.1.

    mono-api-info /usr/lib/mono/4.7.2-api/{mscorlib,System,System.Core,...}.dll > api.xml    # Debian: mono-devel 6.8
    python -m tools.powershell_facts framework api.xml
    python -m tools.powershell_facts cmdlets desktop-5.1.14393.206-windows.json
    python -m tools.powershell_facts values reference/5.1 docset/winserver2019-ps

The second file is in Engine/Settings of PowerShell/PSScriptAnalyzer: the commands of Windows PowerShell 5.1, exported
on a machine with Windows 10 (build 14393). The folders of the third command are in MicrosoftDocs/PowerShell-Docs and
MicrosoftDocs/windows-powershell-docs: a page for each command, with the values that a parameter accepts.
"""

import json
import lzma
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "tests" / "powershell_lint" / "data"
SOURCES = {
    "framework": "reference assemblies of .NET Framework 4.7.2 (Windows Server 2019), of Debian's mono-devel 6.8.0.105",
    "cmdlets": "Engine/Settings/desktop-5.1.14393.206-windows.json of PowerShell/PSScriptAnalyzer",
    "values": "reference/5.1 of MicrosoftDocs/PowerShell-Docs, docset/winserver2019-ps of windows-powershell-docs",
}
PUBLIC, ACCESS, STATIC = 6, 7, 16
"""Values and mask of member attributes (ECMA-335, II.23.1.5 and II.23.1.10)."""
PARAMETER = re.compile(r"(\[)?(\[)?-(\w+)\]?(?: <([^>]*)>)?\]?")
"""One parameter of a syntax line: [-A], [-A <type>], -A <type>, [[-A] <type>], [-A] <type>."""

PAGED = re.compile(r"^### -(\w+)\n(?:(?!^###).)*?^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""Name and properties of a parameter on a command's page."""
ACCEPTED = re.compile(r"^Accepted values: *(\S.*)$", re.MULTILINE)


def _attributed(parameter: ElementTree.Element) -> str:
    """Return a parameter's type; `*` marks an array of any number of arguments, `?` an optional parameter."""
    many = parameter.find("attributes/attribute[@name='System.ParamArrayAttribute']") is not None
    return ("*" if many else "?" if parameter.get("optional") else "") + parameter.get("type", "")


def _members(of: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield name and signature of public members: `s(parameter;parameter)type` is a static method."""
    for method in [*of.findall("constructors/constructor"), *of.findall("methods/method")]:
        if int(method.get("attrib", "0")) & ACCESS == PUBLIC:
            takes = ";".join(_attributed(each) for each in method.findall("parameters/parameter"))
            static = "s" if method.get("static") == "true" else ""
            yield method.get("name", "").partition("(")[0], f"{static}({takes}){method.get('returntype', '')}"
    for one in of.findall("properties/property"):
        if accessors := [
            each for each in one.findall("methods/method") if int(each.get("attrib", "0")) & ACCESS == PUBLIC
        ]:
            static = "s" if accessors[0].get("static") == "true" else ""
            yield one.get("name", "").partition("(")[0], static + ":" + one.get("ptype", "")
    for one in of.findall("fields/field"):
        flags = int(one.get("attrib", "0"))
        if flags & ACCESS == PUBLIC:
            yield one.get("name", ""), ("s" if flags & STATIC else "") + ":" + one.get("fieldtype", "")


def _types(assembly: str, space: str, of: ElementTree.Element, outer: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield full name and record of a type and its nested types."""
    members: dict[str, list[str]] = {}
    for name, signature in _members(of):
        members.setdefault(name, []).append(signature)
    bases = [of.get("base", ""), *(each.get("name", "") for each in of.findall("interfaces/interface"))]
    own = outer + of.get("name", "")
    yield f"{space}.{own}".strip("."), [assembly, of.get("type"), [each for each in bases if each], members]
    for inner in of.findall("classes/class"):
        yield from _types(assembly, space, inner, own + "+")


def framework(text: str) -> dict[str, Any]:
    """Return types by full name: assembly, kind (class, enum, ...), bases and signatures by member."""
    types: dict[str, Any] = {}
    root = ElementTree.fromstring(text)  # noqa: S314 - the output of a program on this machine
    for assembly in root.findall("assembly"):
        for space in assembly.findall("namespaces/namespace"):
            for one in space.findall("classes/class"):
                types.update(_types(assembly.get("name", ""), space.get("name", ""), one))
    return {"source": SOURCES["framework"], "types": dict(sorted(types.items()))}


def parameter_sets(syntax: str) -> list[list[list[Any]]]:
    """Return parameter sets: name, type (empty: a switch), mandatory, positional of each parameter."""
    lines = [each.strip() for each in syntax.split("[<CommonParameters>]") if each.strip()]
    found = []
    for line in lines or [""]:
        rows = []
        for one in PARAMETER.finditer(line):
            first, second, name, kind = one.groups()
            whole = one.group(0)
            positional = bool(second) or (bool(first) and f"[-{name}] <" in whole)
            optional = bool(second) or (bool(first) and not positional)
            rows.append([name, kind or "", not optional, positional])
        found.append(rows)
    return found


def cmdlets(text: str) -> dict[str, Any]:
    """Return parameter sets by command, and the names of aliases."""
    commands: dict[str, Any] = {}
    aliases: set[str] = set()
    for module in json.loads(text)["Modules"]:
        known = module["ExportedCommands"] or []
        for one in [known] if isinstance(known, dict) else known:
            lines = one["ParameterSets"]
            joined = " [<CommonParameters>] ".join(lines) if isinstance(lines, list) else lines
            if joined is not None:
                commands.setdefault(one["Name"], parameter_sets(joined))
        names = module.get("ExportedAliases") or []
        aliases.update([names] if isinstance(names, str) else names)
    return {"source": SOURCES["cmdlets"], "commands": dict(sorted(commands.items())), "aliases": sorted(aliases)}


def accepted(page: str) -> dict[str, list[str]]:
    """Return the accepted values by parameter, from a command's page; parameters without a list accept any value."""
    found: dict[str, list[str]] = {}
    for name, properties in PAGED.findall(page):
        if said := ACCEPTED.search(properties):
            found[name] = sorted({each.strip() for each in said.group(1).split(",")} - {""})
    return found


def values(folders: list[str]) -> dict[str, Any]:
    """Return the accepted values by command and parameter, from all pages `Verb-Noun.md` below the folders."""
    pages = sorted(each for folder in folders for each in Path(folder).rglob("*-*.md"))
    found = {each.stem: accepted(each.read_text("utf-8-sig").replace("\r\n", "\n")) for each in pages}
    return {"source": SOURCES["values"], "values": {name: rows for name, rows in sorted(found.items()) if rows}}


def main(what: str, *files: str) -> None:
    """Read the files and write the facts."""
    if what == "values":
        facts = values(list(files))
    else:
        facts = {"framework": framework, "cmdlets": cmdlets}[what](Path(files[0]).read_text("utf-8-sig"))
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=True)
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"{what}.json.xz").write_bytes(lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
