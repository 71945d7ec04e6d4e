"""User-data: a small loader and a JSON document, nothing else.

The document contains the bundle's URL and sha256, the machine's planned values, and the cluster's facts (known once
cloud resources exist). Its keys are a closed list without secrets, because everyone on a machine can read user-data.
"""

import ast
import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any

from components.clouds import CLOUDS
from components.machine.bundle import CLOUD_INIT, OsFamily
from components.node.kinds import REFERENCES

TARGET = "world"
"""The only fact for the loader, not for plans: `sandbox` lets it download the bundle over plain http."""

_MACHINE = frozenset(name.partition(".")[2] for name in REFERENCES if name.startswith("machine."))
_FACTS = frozenset(name.partition(".")[2] for name in REFERENCES if name.startswith("facts.")) | {TARGET}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FUNCTIONS = "if ($Functions) { return }\n"
"""The line of loader.ps1 between its functions and what it does as user-data or as boot task."""
_EMPTY = re.compile(r"^ *\{\}$", re.MULTILINE)
"""The line of a loader that the document replaces: in the files it is an empty document."""
_NAME = "{name}"
"""The host name in the user-data of Linux machines."""


def document(
    bundle_url: str, bundle_sha256: str, machine: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document of user-data: {"bundle": {"url", "sha256"}, "machine": {...}, "facts": {...}}.

    Keys of machine and facts are those of components.node.kinds.REFERENCES, and facts.world. Raises ValueError for any
    other key, for a URL with a query or a user (a signed URL is a secret), and for a malformed digest.
    """
    unknown = [f"machine.{key}" for key in machine.keys() - _MACHINE] + [
        f"facts.{key}" for key in facts.keys() - _FACTS
    ]
    if unknown:
        raise ValueError(f"user-data: {sorted(unknown)} are not in components/node/kinds/references.py; add them")
    if "?" in bundle_url or "@" in bundle_url:
        raise ValueError("user-data: the bundle's URL has a query or a user; give its plain address, machines sign")
    if not _SHA256.fullmatch(bundle_sha256):
        raise ValueError(f"user-data: {bundle_sha256!r} is not a sha256; give 64 lower-case hexadecimal digits")
    return {"bundle": {"url": bundle_url, "sha256": bundle_sha256}, "machine": dict(machine), "facts": dict(facts)}


def user_data(os_family: OsFamily, document: Mapping[str, Any], cloud: str) -> str:
    """Return one machine's user-data in ASCII: #cloud-config for Linux, a script in the cloud's tags for Windows.

    cloud-init sets the host name before Azure's agent starts, which restarts the network at a later change on Debian
    (Provisioning.MonitorHostName in its waagent.conf).
    """
    before, after = template(os_family, cloud)
    return before.replace(_NAME, _json(document["machine"]["name"])) + _json(document) + after


def image_user_data(document: Mapping[str, Any], cloud: str) -> str:
    """Return the user-data of a Windows machine that bakes an image: the loader's functions, then image/start.ps1."""
    loader, start = ((CLOUD_INIT / "windows" / each).read_text("ascii") for each in ("loader.ps1", "image/start.ps1"))
    functions, _, _ = loader.partition(_FUNCTIONS)
    before, after = _around_document(_windows(functions + start, cloud), "loader.ps1")
    return before + _json(document) + after


def size(user_data: str) -> int:
    """Return the bytes of user-data, as a cloud's limit counts them."""
    return len(user_data.encode())


@cache
def template(os_family: OsFamily, cloud: str) -> tuple[str, str]:
    """Return the user-data before and after the document. Raises ValueError unless the file has one empty document."""
    folder = CLOUD_INIT / os_family
    if os_family == "linux":
        loader = textwrap.indent(without_docstrings((folder / "loader.py").read_text(encoding="ascii")), 6 * " ")
        text = (folder / "user-data.yaml").read_text(encoding="ascii").replace("      loader.py\n", loader)
    else:
        text = _windows((folder / "loader.ps1").read_text(encoding="ascii"), cloud)
    return _around_document(text, folder)


def _windows(script: str, cloud: str) -> str:
    """Return a script in the cloud's tags, without comments and what the cloud does not need."""
    begin, end = CLOUDS[cloud].powershell_tags
    # without the attribute a function ignores unknown arguments; nothing else changes
    return begin + without_comments(of_cloud(script, cloud)).replace("\n[CmdletBinding()]\n", "\n") + end


def _around_document(text: str, source: object) -> tuple[str, str]:
    """Return a text before and after its empty document. Raises ValueError unless it has one; source: named there."""
    places = list(_EMPTY.finditer(text))
    if len(places) != 1:
        raise ValueError(f"{source}: {len(places)} lines hold an empty document {{}}, not one")
    return text[: places[0].end() - 2], text[places[0].end() :]


def of_cloud(script: str, cloud: str) -> str:
    """Return the script without functions for other clouds, whose names contain the cloud (Get-GcpHeader)."""
    others = "|".join(each.capitalize() for each in CLOUDS if each != cloud)
    return re.sub(rf"^function [A-Z][a-z]+-(?:{others})\w* \{{$.*?^\}}$", "", script, flags=re.DOTALL | re.MULTILINE)


def without_comments(script: str) -> str:
    """Return the script without indentation, empty lines and lines that contain only a comment."""
    return "".join(f"{line.lstrip()}\n" for line in script.splitlines() if line.strip() and line.lstrip()[0] != "#")


def without_docstrings(source: str) -> str:
    """Return the source without docstrings, except those that are the whole body of a class or function."""
    lines, dropped = source.splitlines(keepends=True), set[int]()
    for node in ast.walk(ast.parse(source)):
        body: list[ast.stmt] = getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []
        for statement in body if len(body) > 1 else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                dropped |= set(range(statement.lineno - 1, statement.end_lineno or statement.lineno))
    return "".join(line for number, line in enumerate(lines) if number not in dropped)


def _json(document: object) -> str:
    """Return a value as one line of ASCII without <, so that none can end the <powershell> element."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
