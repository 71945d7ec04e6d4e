"""One winpwsh machine: its disk, and runs of PowerShell with the stand-ins of Windows' modules."""

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lab.hns import dlls, server
from lab.hns.service import Service
from sandbox.boot.network_namespaces import within

MULLION = r"C:\Program Files\mullion"
BOOKS = r"C:\fakes"
"""Folder of the stand-ins' state and calls."""
FOLDER = rf"{MULLION}\bundles\b"
"""Bundle folder of tests without loader."""
MODULES = Path(__file__).with_name("modules")
WINE_CRASHED = 245
"""Exit code of a segmentation fault of Wine, seen in about 1 of 100 runs; such runs are repeated."""
IDLE_SECONDS, ON_SECONDS = 9999, 180
IDLE = ("cmd.exe", "/c", f"echo up& ping.exe -n {IDLE_SECONDS} 127.0.0.1 >NUL")
"""Prints `up` (within ON_SECONDS), then runs for IDLE_SECONDS."""
IMPORT = rf"$env:PSModulePath = '{BOOKS}\modules;' + $env:PSModulePath; Import-Module windows -DisableNameChecking"
"""Imports the stand-ins; PSModulePath makes new runspaces find them too."""


@dataclass
class Machine:
    """One machine: path of winpwsh, folder, and words before the tool."""

    tool: str
    folder: Path
    entry: tuple[str, ...] = ()
    """Words before the tool, which enter its namespaces; empty: the caller's."""
    hns: Service | None = field(default=None, init=False)
    """State of its Host Networking Service, while `networking` serves it."""
    _on: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def drive(self) -> Path:
        """Return the host's path of C:."""
        return self.folder / "drive_c"

    def path(self, windows: str) -> Path:
        """Return the host's path of an absolute Windows path."""
        return self.drive.joinpath(*windows.partition(":")[2].strip("\\").split("\\"))

    def start(self, command: str, seconds: int = 90, output: IO[str] | None = None) -> "subprocess.Popen[str]":
        """Start PowerShell with the stand-ins; it ends with the command's exit code. output: target of its output."""
        whole = f"{IMPORT}; {command}; exit $LASTEXITCODE"
        words = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", whole)
        return subprocess.Popen(
            [*self.entry, self.tool, "pwsh", str(self.folder), *words],
            stdout=output or self.output(),
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "WINPWSH_TIMEOUT": str(seconds)},
        )

    def output(self) -> IO[str] | int:
        """Return the target of a run's output."""
        return subprocess.PIPE

    def pwsh(self, command: str, seconds: int = 90, *, again: bool = True) -> tuple[int, str]:
        """Run a command; return exit code and output."""
        # a pipe would be held open by processes of Wine that start meanwhile and outlive the run (explorer.exe)
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            code = self.start(command, seconds, said).wait(seconds + 20)
            said.seek(0)
            output = said.read()
        if code == WINE_CRASHED and again:
            return self.pwsh(command, seconds, again=False)
        return code, output

    def stay_on(self) -> None:
        """Keep the machine on between runs, until `cut`.

        Otherwise each run starts Wine: a second of CPU time, another computer name, and services end. Services of a
        machine that a run started would also hold the run's output open.
        """
        if self._on and self._on.poll() is None:
            return
        self._on = subprocess.Popen(
            [*self.entry, self.tool, "run", str(self.folder), *IDLE],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "WINPWSH_TIMEOUT": str(IDLE_SECONDS)},
        )
        if output := self._on.stdout:
            with output:
                if not select.select([output], [], [], ON_SECONDS)[0]:
                    raise TimeoutError(f"the machine in {self.folder} was not on within {ON_SECONDS} s")
                output.readline()

    def boot_task(self, seconds: int = 90) -> tuple[int, str]:
        """Run the boot task."""
        return self.pwsh(rf"& '{MULLION}\loader.ps1'", seconds)

    def cut(self) -> None:
        """Cut the power."""
        stop(self.tool, self.folder)
        if self._on:
            self._on.wait(30)
            self._on = None

    def node(self, seconds: int = 120) -> tuple[int, str]:
        """Run the executor, as the boot task does once the bundle is current."""
        return self.pwsh(self.run_node, seconds)

    @property
    def run_node(self) -> str:
        """Return the command that starts the executor."""
        return rf"& '{FOLDER}\node.ps1'"

    def result(self) -> dict[str, Any]:
        """Return the result file of the last run."""
        return json.loads(self.path(r"C:\ProgramData\mullion\result.json").read_text())

    def asked(self) -> list[dict[str, Any]]:
        """Return the recorded calls of the stand-ins."""
        file = self.path(rf"{BOOKS}\asked.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def kept(self, kind: str) -> dict[str, Any]:
        """Return the state of one kind of stand-ins; empty before their first call."""
        file = self.path(rf"{BOOKS}\{kind}.json")
        return json.loads(file.read_text()) if file.exists() else {}


ENTER = """hostname "$0"; for each in "$1"/*; do mount --bind "$each" "/etc/${each##*/}"; done; shift; exec "$@\""""


def inside(space: str, name: str, etc: Path) -> tuple[str, ...]:
    """Return words before a machine's tool that enter a network namespace and set host name and files of /etc.

    etc: folder of files mounted over /etc, which Wine reads: hosts, and resolv.conf if there is a name server.
    """
    namespaces = ("nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "--propagation", "private")
    return (*namespaces, "sh", "-ec", ENTER, name, str(etc))


def stop(tool: str, folder: Path) -> None:
    """End all processes of a machine."""
    subprocess.run([tool, "stop", str(folder)], check=False, capture_output=True, timeout=60)


BOOTS = '\n[Software\\\\mullion-boot] 1\n"Id"=dword:00000001\n'
"""The executor's number of the boot. On Windows its key is volatile. Wine forgets volatile keys whenever the machine
has no process, although that is no boot; so here the key is not volatile, and each boot changes the number."""


NO_SCREEN = '\n[Software\\\\Wine\\\\Drivers] 1\n"Graphics"="null"\n'
"""Lets Wine create consoles without a screen: programs of services that need one, such as PowerShell, get their own."""


def new_machine(tool: str, folder: Path) -> Machine:
    """Create a machine with the stand-ins."""
    subprocess.run([tool, "machine", str(folder)], check=True, capture_output=True, timeout=300)
    for file, text in (("system.reg", BOOTS), ("user.reg", NO_SCREEN)):
        with (folder / file).open("a") as registry:
            registry.write(text)
    machine = Machine(tool, folder)
    shutil.copytree(MODULES, machine.path(rf"{BOOKS}\modules"))
    _place_powershell(machine)
    dlls.install(folder)
    return machine


def _place_powershell(machine: Machine) -> None:
    """Place PowerShell where Windows has it, for services that start it; Wine's program of that name does nothing."""
    place = machine.path(r"C:\windows\system32\WindowsPowerShell\v1.0")
    (place / "powershell.exe").unlink(missing_ok=True)
    place.mkdir(parents=True, exist_ok=True)
    for file in machine.path(r"C:\Program Files\PowerShell\7").iterdir():
        (place / file.name).symlink_to(file.resolve())
    (place / "powershell.exe").symlink_to("pwsh.exe")


@contextmanager
def networking(machine: Machine, service: Service, space: str = "") -> Iterator[Service]:
    """Serve a machine's calls of HNS, in its network namespace; the caller's if `space` is empty."""
    serving = server.serving(service, machine.folder)
    within(space, serving.__enter__) if space else serving.__enter__()
    machine.hns = service
    try:
        yield service
    finally:
        serving.__exit__(None, None, None)
