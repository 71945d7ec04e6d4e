"""What starts user-data on the Windows images of each cloud: a command of PowerShell, at each boot of a machine.

AWS and GCP have a service on the machine for it, which module `boot` imitates. Azure puts customData on the disk of a
new machine and runs none of it; the command of a custom script extension runs once for its settings, and not again at a
restart (Azure, "Custom Script Extension for Windows", tips).
"""

import base64
import json
import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sandbox.boot.windows.server import FRESH, Failed
from sandbox.records import Record
from sandbox.world import World

DATA = r"C:\AzureData\CustomData.bin"
STATUS = r"C:\Packages\Plugins\Microsoft.Compute.CustomScriptExtension\1.10\Status\0.status"
EXTENSION_SECONDS = 60
"""In which an extension comes after its machine, which it waits for."""
_COMMAND = re.compile(r'powershell\.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -Command "([^"]*)"')

Place = Callable[[str], Path]
"""Where this host has an absolute Windows path of a machine."""


def _extension(world: World, machine: Record, path: Place) -> str:
    data, status = path(DATA), path(STATUS)
    if not data.exists():
        data.parent.mkdir(parents=True)
        data.write_bytes(base64.b64decode(machine.inputs["osProfile"]["customData"]))
    if status.exists():
        return ""
    found = _settings(world, machine)
    words = _COMMAND.fullmatch(str(found.get("commandToExecute", "")))
    if not words:
        raise Failed(f"the extension of {machine.name} does not start Windows PowerShell with one command")
    status.parent.mkdir(parents=True)
    status.write_text("[]")
    return words[1]


def _settings(world: World, machine: Record) -> dict[str, Any]:
    """The protected settings of the machine's extension, once it has one."""
    end = time.monotonic() + EXTENSION_SECONDS
    while not (kept := world.secret_values(machine.id)):
        if time.monotonic() > end:
            raise Failed(f"no extension starts anything on {machine.name}, and Windows runs nothing of customData")
        time.sleep(0.2)
    return json.loads([*kept.values()][-1])


LAUNCH: dict[str, Callable[[World, Record, Place], str]] = {
    "aws": lambda *_: "Start-Ec2Launch v2",
    "gcp": lambda *_: "Start-MetadataScript",
    "azure": _extension,
}


def launch(cloud: str, place: Path, machine: Record, path: Place) -> str:
    """What runs at this boot of a machine, for PowerShell. place: of the world, which a thread of its own asks."""
    with closing(World(place)) as world:
        return LAUNCH[cloud](world, machine, path)


def first_name(cloud: str, planned: str) -> str:
    """What a new machine is called: EC2 names it, elsewhere it is the cloud's name of it (Google's agent sets it)."""
    return FRESH if cloud == "aws" else planned
