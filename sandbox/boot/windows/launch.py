"""What starts user-data on the Windows images of each cloud: a command of PowerShell, at each boot of a machine.

AWS and GCP have a service on the machine for it. Azure puts customData on the disk of a new machine and runs none of
it; its agent runs the command of a custom script extension. Module `boot` imitates all three.
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
from sandbox.cloud_state import CloudState
from sandbox.records import Record

DATA = r"C:\AzureData\CustomData.bin"
EXTENSION_SECONDS = 60
"""In which an extension comes after its machine, which it waits for."""
_COMMAND = re.compile(r'powershell\.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -Command "([^"]*)"')

Put = Callable[[str, bytes], None]
"""Puts a file on a machine's disk where there is none at this absolute Windows path."""


def quoted(text: str) -> str:
    """A text as PowerShell's source."""
    return "'" + text.replace("'", "''") + "'"


def _extension(cloud_state: CloudState, machine: Record, put: Put) -> str:
    put(DATA, base64.b64decode(machine.inputs["osProfile"]["customData"]))
    found = _settings(cloud_state, machine)
    words = _COMMAND.fullmatch(str(found.get("commandToExecute", "")))
    if not words:
        raise Failed(f"the extension of {machine.name} does not start Windows PowerShell with one command")
    return f"Start-CustomScript {quoted(words[1])}"


def _settings(cloud_state: CloudState, machine: Record) -> dict[str, Any]:
    """The protected settings of the machine's extension, once it has one."""
    end = time.monotonic() + EXTENSION_SECONDS
    while not (kept := cloud_state.secret_values(machine.id)):
        if time.monotonic() > end:
            raise Failed(f"no extension starts anything on {machine.name}, and Windows runs nothing of customData")
        time.sleep(0.2)
    return json.loads([*kept.values()][-1])


LAUNCH: dict[str, Callable[[CloudState, Record, Put], str]] = {
    "aws": lambda *_: "Start-Ec2Launch v2",
    "gcp": lambda *_: "Start-MetadataScript",
    "azure": _extension,
}


def launch(cloud: str, place: Path, machine: Record, put: Put) -> str:
    """What runs at this boot of a machine, for PowerShell. place: of the world, which a thread of its own asks."""
    with closing(CloudState(place)) as cloud_state:
        return LAUNCH[cloud](cloud_state, machine, put)


def first_name(cloud: str, planned: str) -> str:
    """What a new machine is called: EC2 names it, elsewhere it is the cloud's name of it (Google's agent sets it)."""
    return FRESH if cloud == "aws" else planned
