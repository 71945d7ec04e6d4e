"""The API of .NET Framework 4.7.2: types by the names that PowerShell gives them, their members and assemblies."""

import functools
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.powershell_lint.tables import ACCELERATORS, AUTOMATION, EXTENDED

FILE = Path(__file__).parent / "data" / "framework.json.xz"
SIGNATURE = re.compile(r"(s?)(?:\((.*)\))?:?(.*)")


@functools.cache
def types() -> dict[str, tuple[str, str, list[str], dict[str, list[str]]]]:
    """Return assembly, kind, bases, and signatures by member, by full name of the type (tools/powershell_facts.py)."""
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))["types"]
    for name, members in AUTOMATION.items():
        signatures = {each: ["*"] for each in members.split()}
        found.setdefault(name, ["System.Management.Automation", "class", ["System.Object"], signatures])
    return found


@functools.cache
def _names() -> dict[str, str]:
    return {name.lower().replace("+", "."): name for name in types()}


def split(name: str) -> tuple[str, list[str], str]:
    """Return the parts of a type name: `Func[int, string[]][]` is Func, [int, string[]] and []."""
    text = name.strip()
    if "[" not in text:
        return text, [], ""
    array = ""
    while found := re.search(r"\[,*\]$", text):
        text, array = text[: found.start()], found.group(0) + array
    start = text.find("[")
    if start < 0:
        return text, [], array
    parts, depth = [""], 0
    for sign in text[start + 1 : -1]:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return text[:start], [part.strip() for part in parts], array


@functools.cache
def resolve(name: str) -> str | None:
    """Return the full name of a type as PowerShell finds it, with generic arguments and array; None: there is none."""
    plain, arguments, array = split(name)
    count = f"`{len(arguments)}" if arguments and "`" not in plain else ""
    short = plain.lower().replace("+", ".") + count
    full = ACCELERATORS.get(short) or _names().get(short) or _names().get(f"system.{short}")
    inner = [resolve(each) for each in arguments]
    if not full or None in inner:
        return None
    return full + (f"[{','.join(str(each) for each in inner)}]" if inner else "") + array


def wrong_parts(name: str) -> list[str]:
    """Return the names within a type name that .NET Framework does not have."""
    plain, arguments, _ = split(name)
    wrong = [part for each in arguments for part in wrong_parts(each)]
    return wrong if wrong or resolve(name) else [plain]


def assemblies(full: str) -> set[str]:
    """Return the assemblies of a full type name and its generic arguments."""
    plain, arguments, _ = split(full)
    own = {types()[plain][0]} if plain in types() else set()
    return own.union(*(assemblies(each) for each in arguments))


def lacks(kind: str, text: str) -> bool:
    """Return whether an enumeration lacks a name of a text such as `ReadWrite, Delete`."""
    if kind not in types() or types()[kind][1] != "enum":
        return False
    known = {name.lower() for name in types()[kind][3]}
    return any(part.strip().lower() not in known and not part.strip().isdigit() for part in text.split(","))


def lineage(full: str) -> Iterator[str]:
    """Yield the type and all that it inherits from, interfaces too."""
    todo, seen = [split(full)[0]], set[str]()
    while todo:
        name = split(todo.pop())[0]
        if name in seen:
            continue
        seen.add(name)
        yield name
        todo += types()[name][2] if name in types() else []
    if "System.Object" not in seen:
        yield "System.Object"


@functools.cache
def heirs(full: str) -> list[str]:
    """Return the types that inherit from a type: a method that returns a Stream may return a FileStream."""
    plain = split(full)[0]
    return [name for name in types() if name != plain and plain in lineage(name)] if plain != "System.Object" else []


class Signature:
    """One overload or property: static or not, the counts of arguments it takes, and the type it returns."""

    def __init__(self, text: str) -> None:
        found = SIGNATURE.fullmatch(text)
        self.any = text == "*" or not found
        static, takes, returns = found.groups() if found else ("", None, "")
        self.static = bool(static)
        self.method = takes is not None
        parameters = takes.split(";") if takes else []
        self.least = len([each for each in parameters if not each.startswith(("*", "?"))])
        self.most = 99 if parameters and parameters[-1].startswith("*") else len(parameters)
        self.parameters = parameters
        self.returns = returns

    def fits(self, count: int) -> bool:
        """Return whether this overload takes that many arguments."""
        return self.any or self.least <= count <= self.most


def members(full: str, name: str) -> list[Signature]:
    """Return the overloads of a member; empty: the type and its bases do not have it."""
    found: list[Signature] = []
    for base in lineage(full):
        own = types()[base][3] if base in types() else {}
        for known, signatures in own.items():
            if known.lower() == name.lower() or known == "*":
                found += [Signature(each) for each in signatures]
        if name.lower() in EXTENDED.get(base, "").lower().split():
            found.append(Signature("*"))
        if name.lower() == "new" and base == split(full)[0]:
            found += [Signature(each) for each in own.get(".ctor", [])]
            if base in types() and (types()[base][1] == "struct" or "*" in own):
                found.append(Signature("()"))
    return found


@functools.cache
def methods() -> dict[str, list[Signature]]:
    """Return all overloads of all instance methods, by name in lower case."""
    found: dict[str, list[Signature]] = {}
    for _, _, _, own in types().values():
        for name, signatures in own.items():
            for signature in map(Signature, signatures):
                if (signature.method and not signature.static) or signature.any:
                    found.setdefault(name.lower(), []).append(signature)
    return found
