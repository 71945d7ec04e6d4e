"""The PowerShell command that starts user-data at each boot, for the Windows images of each cloud.

On AWS and GCP a service of the image starts user-data. Azure writes customData to the disk of a new machine without
running it; its agent runs the command of a custom script extension. Module `boot` imitates all three.
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
"""Seconds for the extension to exist; the engine creates it after the machine."""
_COMMAND = re.compile(r'powershell\.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -Command "([^"]*)"')

Put = Callable[[str, bytes], None]
"""Writes a file to a machine's disk unless it exists: absolute Windows path, content."""


def quoted(text: str) -> str:
    """Return a PowerShell string literal."""
    return "'" + text.replace("'", "''") + "'"


def _extension(cloud_state: CloudState, machine: Record, put: Put) -> str:
    put(DATA, base64.b64decode(machine.inputs["osProfile"]["customData"]))
    command = _COMMAND.fullmatch(str(_settings(cloud_state, machine).get("commandToExecute", "")))
    if not command:
        raise Failed(f"the extension of {machine.name} does not start Windows PowerShell with one command")
    return f"Start-CustomScript {quoted(command[1])}"


def _settings(cloud_state: CloudState, machine: Record) -> dict[str, Any]:
    """Wait for the machine's extension; return its protected settings. Raises Failed after EXTENSION_SECONDS."""
    end = time.monotonic() + EXTENSION_SECONDS
    while not (versions := cloud_state.secret_values(machine.id)):
        if time.monotonic() > end:
            raise Failed(f"{machine.name} has no extension, and Windows does not run customData")
        time.sleep(0.2)
    return json.loads([*versions.values()][-1])


LAUNCH: dict[str, Callable[[CloudState, Record, Put], str]] = {
    "aws": lambda *_: "Start-Ec2Launch v2",
    "gcp": lambda *_: "Start-MetadataScript",
    "azure": _extension,
}


def launch(cloud: str, place: Path, machine: Record, put: Put) -> str:
    """Return the PowerShell command of this boot. place: file of the cloud state, opened for the caller's thread."""
    with closing(CloudState(place)) as cloud_state:
        return LAUNCH[cloud](cloud_state, machine, put)


def first_name(cloud: str, planned: str) -> str:
    """Return the name of a new machine: EC2's default, elsewhere the cloud's name of it (Google's agent sets it)."""
    return FRESH if cloud == "aws" else planned
