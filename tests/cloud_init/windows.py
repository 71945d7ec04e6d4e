"""Temporary Windows machines with real PowerShell, created by the program in MULLION_WINPWSH."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

from components.machine.bundle import CLOUD_INIT, Bundle, scripts
from components.machine.user_data import document, user_data
from components.node.plan import canonical
from sandbox.boot.windows.winpwsh import FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud

NAME = socket.gethostname().partition(".")[0][:15].lower()
"""Wine renames the machine after its host at every start."""
ADDRESS = "http://169.254.169.254"


def windows_scripts(cloud: FakeCloud) -> dict[str, bytes]:
    """Return the executor's files; only the metadata address is replaced."""
    return {name: content.replace(ADDRESS.encode(), cloud.url.encode()) for name, content in scripts("windows").items()}


def place(machine: Machine, cloud: FakeCloud, steps: list[dict[str, Any]], **changes: Any) -> None:
    """Put the executor, a plan of one phase with these steps, and machine.json where the loader puts them."""
    taint = {"key": "os", "value": "windows", "effect": "NoSchedule"}
    plan = {
        "format": 1, "role": "worker", "pool": "web", "os": "windows-2019",
        "registration": {"labels": "mullion.dev/pool=web", "taints": [taint]},
        "phases": [{"name": "all", "scope": "node", "steps": steps}],
    }  # fmt: skip
    files = {**windows_scripts(cloud), "plan.json": canonical(plan | changes)}
    folder = machine.path(FOLDER)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    told = document(f"{cloud.url}/b.zip", 64 * "0", {"name": NAME, "address": "10.20.1.4"}, facts(cloud))
    machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))


STORES = ("bundle_store", "snapshot_store", "status_url", "compute_service")
"""Facts that a machine has only if its test sets them."""


def facts(cloud: FakeCloud, target: str = "sandbox") -> dict[str, str]:
    """Return facts of a cluster whose services are the test's."""
    urls = {"ca_url": f"{cloud.url}/bundles/ca.crt", "api_url": "https://api.c.mullion.internal"}
    known = {name: value for name, value in cloud.facts.items() if name not in STORES}
    return {**known, **urls, "world": target}


def tell(
    machine: Machine,
    cloud: FakeCloud,
    made: Bundle,
    *,
    sha256: str = "",
    target: str = "sandbox",
    name: str = "web-0",
    **more: str,
) -> str:
    """Write the machine's user-data to its disk as the cloud's agent does; return the script's path. more: facts."""
    known = facts(cloud, target) | more
    told = document(f"{cloud.url}/{made.key}", sha256 or made.sha256, {"name": name}, known)
    text = user_data("windows", told, known["cloud"]).replace(ADDRESS, cloud.url)
    script = machine.path(r"C:\user\UserScript.ps1")
    script.parent.mkdir(exist_ok=True)
    script.write_text(text.removeprefix("<powershell>\n").removesuffix("</powershell>\n"))
    return r"C:\user\UserScript.ps1"


def first_boot(script: str) -> str:
    """Run what a machine runs at its first boot: user-data, then the task it registered."""
    return rf"& {script}; & '{MULLION}\loader.ps1'"


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until what() is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


FILES = sorted(CLOUD_INIT.joinpath("windows").rglob("*.ps1"))
