"""Bundles: a node plan and the scripts that execute it, in one reproducible archive.

The archive is a zip of stored (not compressed) entries: .NET's System.IO.Compression and Python's zipfile
both read it, and no compressor's version changes its bytes. Names are sorted; dates, owners and modes are fixed.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from components.node import baking
from components.node.plan import NodePlan, canonical

OsFamily = Literal["linux", "windows"]

CLOUD_INIT = Path(__file__).resolve().parents[2] / "cloud-init"
"""Folder of the scripts; components/ and cloud-init/ are siblings in every copy of Mullion."""

PLAN = "plan.json"
ERRORS, REDACTION = "errors.json", "redaction.json"
"""Tables that the scripts of both systems read: errors by name, and patterns of secrets to redact."""
BAKE, IMAGE = "bake.json", "image/"
"""The list of what no image may contain, and the folder of scripts that only image bundles contain."""
AGENT = "agent/"
"""The folder of the control-plane agent."""
CONTACT = "contact/"
"""The folder of scripts for a first contact with a Windows Server, in no bundle."""
_SUFFIXES = {"linux": (".py",), "windows": (".ps1",)}
_DATE = (1980, 1, 1, 0, 0, 0)
"""The oldest date a zip entry can have."""
_MODE = 0o100644 << 16
"""A regular file that all may read and its owner may write, in the bits where zip stores Unix modes."""
_UNIX = 3


@dataclass(frozen=True)
class Bundle:
    """One archive for the machines of a pool: its bytes, their sha256 (hex), and its key in the bundle store."""

    name: str
    content: bytes
    sha256: str
    key: str


def bundle(plan: NodePlan, scripts: Mapping[str, bytes]) -> Bundle:
    """Pack the plan and the scripts. `scripts` maps names inside the archive (with /) to bytes.

    Raises ValueError when a script has the plan's name or a name that would leave the archive's folder.
    """
    for name in scripts:
        if name == PLAN or name.startswith("/") or "\\" in name or ".." in name.split("/"):
            raise ValueError(f"bundle {plan.pool}: {name!r} cannot be the name of a script; use a plain relative name")
    content = _archive({PLAN: canonical(plan.document()), **scripts})
    digest = hashlib.sha256(content).hexdigest()
    return Bundle(plan.pool, content, digest, f"bundles/{plan.pool}/{digest}.zip")


def scripts(os_family: OsFamily, *, control_plane: bool = False) -> dict[str, bytes]:
    """Return the executor's files for a system by their name inside the bundle, with the tables both systems share.

    The agent's files are included for control planes only.
    """
    left_out = (IMAGE, CONTACT) if control_plane else (IMAGE, CONTACT, AGENT)
    return {name: content for name, content in _scripts(os_family).items() if not name.startswith(left_out)}


def image_bundle(plan: NodePlan, cloud: str) -> Bundle:
    """Return the bundle that bakes an image for a Windows pool: image phases, executor, scripts in image/."""
    baked = canonical(baking.document(plan, cloud))
    files = {name: content for name, content in _scripts("windows").items() if not name.startswith(CONTACT)}
    return bundle(baking.image_plan(plan), {BAKE: baked, **files})


def contact_scripts() -> dict[str, bytes]:
    """Return the files of a first contact with a Windows Server: those of a bundle, and the scripts in contact/."""
    templates = (f"{CONTACT}one-file.ps1", f"{CONTACT}fetch.ps1")
    whole = _scripts("windows").items()
    return {name: content for name, content in whole if not name.startswith(IMAGE) and name not in templates}


@cache
def _scripts(os_family: OsFamily) -> Mapping[str, bytes]:
    folder = CLOUD_INIT / os_family
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES[os_family])
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    shared = {each: (CLOUD_INIT / each).read_bytes() for each in (ERRORS, REDACTION)}
    return MappingProxyType({**shared, **files})


def _archive(entries: Mapping[str, bytes]) -> bytes:
    """Return a zip of the entries, sorted by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system = _UNIX
            entry.external_attr = _MODE
            archive.writestr(entry, entries[name])
    return buffer.getvalue()
