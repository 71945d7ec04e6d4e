"""Throw-away Windows machines with real PowerShell, made by the program that MULLION_WINPWSH names."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from components.bundle import CLOUD_INIT, Bundle, scripts
from components.node.plan import canonical
from components.userdata import document, user_data
from tests.cloud_init.cloud import Cloud

MULLION = r"C:\Program Files\mullion"
FOLDER = rf"{MULLION}\bundles\b"
NAME = socket.gethostname().partition(".")[0][:15].lower()
"""Wine names the machine after its host at every start."""
WINE_CRASHED = 245
"""Wine itself ended with a segmentation fault, seen once in about a hundred runs: not under test, so run again."""
STANDINS = Path(__file__).with_name("windows_modules.psm1")
IMPORT = r"$env:PSModulePath = 'C:\fakes\modules;' + $env:PSModulePath; Import-Module windows -DisableNameChecking"
"""Modules of Windows that a machine lacks; a runspace of its own finds them too."""
ADDRESS = "http://169.254.169.254"


@dataclass
class Machine:
    """One machine: its tool, its folder, and the environment of its runs."""

    tool: str
    folder: Path
    entry: tuple[str, ...] = ()
    """Words before the tool: where it runs, if not in the test's own namespaces."""

    @property
    def drive(self) -> Path:
        """C:, as the host sees it."""
        return self.folder / "drive_c"

    def path(self, windows: str) -> Path:
        """The host's path of an absolute Windows path."""
        return self.drive.joinpath(*windows.partition(":")[2].strip("\\").split("\\"))

    def start(self, command: str, seconds: int = 90) -> subprocess.Popen[str]:
        """A run of PowerShell that has the stand-ins; it ends with the command's exit code."""
        whole = f"{IMPORT}; {command}; exit $LASTEXITCODE"
        argv = [
            *self.entry,
            self.tool,
            "pwsh",
            str(self.folder),
            "-NoProfile",
            "-NonInteractive",
            "-ExecutionPolicy",
            "Bypass",
        ]
        environment = {**os.environ, "WINPWSH_TIMEOUT": str(seconds)}
        return subprocess.Popen(
            [*argv, "-Command", whole], stdout=self.output(), stderr=subprocess.STDOUT, text=True, env=environment
        )

    def output(self) -> IO[str] | int:
        """Where a run writes to."""
        return subprocess.PIPE

    def pwsh(self, command: str, seconds: int = 90, *, again: bool = True) -> tuple[int, str]:
        """Exit code and output of a run."""
        run = self.start(command, seconds)
        output = run.communicate(timeout=seconds + 20)[0]
        if run.returncode == WINE_CRASHED and again:
            return self.pwsh(command, seconds, again=False)
        return run.returncode, output

    def boot_task(self, seconds: int = 90) -> tuple[int, str]:
        """What the boot task does."""
        return self.pwsh(rf"& '{MULLION}\loader.ps1'", seconds)

    def cut(self) -> None:
        """The power goes."""
        subprocess.run([*self.entry, self.tool, "stop", str(self.folder)], check=False, capture_output=True, timeout=60)

    def node(self, seconds: int = 120) -> tuple[int, str]:
        """What the boot task does once the bundle is current."""
        return self.pwsh(self.run_node, seconds)

    @property
    def run_node(self) -> str:
        """The command that starts the executor."""
        return rf"& '{FOLDER}\node.ps1'"

    def result(self) -> dict[str, Any]:
        """The result file of the last run."""
        return json.loads(self.path(r"C:\ProgramData\mullion\result.json").read_text())

    def asked(self) -> list[dict[str, Any]]:
        """What the stand-ins were asked."""
        file = self.path(r"C:\fakes\asked.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def kept(self, kind: str) -> dict[str, Any]:
        """What the stand-ins of one kind keep."""
        return json.loads(self.path(rf"C:\fakes\{kind}.json").read_text())


ENTER = 'hostname "$0"; mount --bind "$1" /etc/hosts; shift; exec "$@"'


def inside(space: str, name: str, hosts: Path) -> tuple[str, ...]:
    """Words before a machine's tool: in a network namespace, with a name and an /etc/hosts, which Wine reads."""
    own = ("nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "--propagation", "private")
    return (*own, "sh", "-ec", ENTER, name, str(hosts))


def new_machine(tool: str, folder: Path) -> Machine:
    """A fresh machine with the stand-ins."""
    subprocess.run([tool, "machine", str(folder)], check=True, capture_output=True, timeout=120)
    machine = Machine(tool, folder)
    place = machine.path(r"C:\fakes\modules\windows\windows.psm1")
    place.parent.mkdir(parents=True)
    shutil.copy(STANDINS, place)
    for name in ("windows_network.ps1", "windows_hns.ps1"):
        shutil.copy(STANDINS.with_name(name), place.parent)
    return machine


def windows_scripts(cloud: Cloud) -> dict[str, bytes]:
    """The executor's files; only the metadata address is the test's."""
    return {name: content.replace(ADDRESS.encode(), cloud.url.encode()) for name, content in scripts("windows").items()}


def place(machine: Machine, cloud: Cloud, steps: list[dict[str, Any]], **changes: Any) -> None:
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
"""Facts that a machine has only where its test says so."""


def facts(cloud: Cloud, world: str = "sandbox") -> dict[str, str]:
    """Facts of a cluster whose services are the test's."""
    urls = {"ca_url": f"{cloud.url}/bundles/ca.crt", "api_url": "https://api.c.mullion.internal"}
    known = {name: value for name, value in cloud.facts.items() if name not in STORES}
    return {**known, **urls, "world": world}


def tell(
    machine: Machine,
    cloud: Cloud,
    made: Bundle,
    *,
    sha256: str = "",
    world: str = "sandbox",
    name: str = "web-0",
    **more: str,
) -> str:
    """Put the machine's user-data on its disk as the cloud's own agent does; gives the script's path. more: facts."""
    known = facts(cloud, world) | more
    told = document(f"{cloud.url}/{made.key}", sha256 or made.sha256, {"name": name}, known)
    text = user_data("windows", told, known["cloud"]).replace(ADDRESS, cloud.url)
    script = machine.path(r"C:\user\UserScript.ps1")
    script.parent.mkdir(exist_ok=True)
    script.write_text(text.removeprefix("<powershell>\n").removesuffix("</powershell>\n"))
    return r"C:\user\UserScript.ps1"


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until what() is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


FILES = sorted(CLOUD_INIT.joinpath("windows").rglob("*.ps1"))
