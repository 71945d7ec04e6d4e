"""One winpwsh machine: its disk, and runs of PowerShell on it that have the stand-ins of Windows' modules."""

import json
import os
import select
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

MULLION = r"C:\Program Files\mullion"
BOOKS = r"C:\fakes"
"""Where stand-ins keep what they made and were asked."""
FOLDER = rf"{MULLION}\bundles\b"
"""Where tests that have no loader put their bundle."""
MODULES = Path(__file__).with_name("modules")
WINE_CRASHED = 245
"""Wine itself ended with a segmentation fault, seen once in about a hundred runs: not under test, so run again."""
IDLE_SECONDS, ON_SECONDS = 9999, 180
IDLE = ("cmd.exe", "/c", f"echo up& ping.exe -n {IDLE_SECONDS} 127.0.0.1 >NUL")
"""Says that it is up (within ON_SECONDS), and takes so many seconds."""
IMPORT = rf"$env:PSModulePath = '{BOOKS}\modules;' + $env:PSModulePath; Import-Module windows -DisableNameChecking"
"""Modules of Windows that a machine lacks; a runspace of its own finds them too."""


@dataclass
class Machine:
    """One machine: its tool, its folder, and the environment of its runs."""

    tool: str
    folder: Path
    entry: tuple[str, ...] = ()
    """Words before the tool: where it runs, if not in the caller's own namespaces."""
    _on: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def drive(self) -> Path:
        """C:, as the host sees it."""
        return self.folder / "drive_c"

    def path(self, windows: str) -> Path:
        """The host's path of an absolute Windows path."""
        return self.drive.joinpath(*windows.partition(":")[2].strip("\\").split("\\"))

    def start(self, command: str, seconds: int = 90) -> "subprocess.Popen[str]":
        """A run of PowerShell that has the stand-ins; it ends with the command's exit code."""
        whole = f"{IMPORT}; {command}; exit $LASTEXITCODE"
        words = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", whole)
        return subprocess.Popen(
            [*self.entry, self.tool, "pwsh", str(self.folder), *words],
            stdout=self.output(),
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "WINPWSH_TIMEOUT": str(seconds)},
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

    def stay_on(self) -> None:
        """Switch the machine on, so that it is on between runs too, until it is cut.

        Else Wine begins anew at each run: a second more of CPU time, another name, and no service runs on. And where a
        run switches the machine on, services of Windows hold its output for as long as they live.
        """
        if self._on and self._on.poll() is None:
            return
        self._on = subprocess.Popen(
            [*self.entry, self.tool, "run", str(self.folder), *IDLE],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "WINPWSH_TIMEOUT": str(IDLE_SECONDS)},
        )
        if said := self._on.stdout:
            with said:
                if not select.select([said], [], [], ON_SECONDS)[0]:
                    raise TimeoutError(f"the machine in {self.folder} was not on within {ON_SECONDS} s")
                said.readline()

    def boot_task(self, seconds: int = 90) -> tuple[int, str]:
        """What the boot task does."""
        return self.pwsh(rf"& '{MULLION}\loader.ps1'", seconds)

    def cut(self) -> None:
        """The power goes."""
        stop(self.tool, self.folder)
        if self._on:
            self._on.wait(30)
            self._on = None

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
        file = self.path(rf"{BOOKS}\asked.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def kept(self, kind: str) -> dict[str, Any]:
        """What the stand-ins of one kind keep; nothing where they were never asked."""
        file = self.path(rf"{BOOKS}\{kind}.json")
        return json.loads(file.read_text()) if file.exists() else {}


ENTER = """hostname "$0"; for each in "$1"/*; do mount --bind "$each" "/etc/${each##*/}"; done; shift; exec "$@\""""


def inside(space: str, name: str, etc: Path) -> tuple[str, ...]:
    """Words before a machine's tool: in a network namespace, with a name, and files over /etc, which Wine reads.

    etc: a folder with such files: hosts, and resolv.conf where there is a name server.
    """
    own = ("nsenter", f"--net=/run/netns/{space}", "unshare", "--mount", "--uts", "--propagation", "private")
    return (*own, "sh", "-ec", ENTER, name, str(etc))


def stop(tool: str, folder: Path) -> None:
    """End every process of a machine."""
    subprocess.run([tool, "stop", str(folder)], check=False, capture_output=True, timeout=60)


def new_machine(tool: str, folder: Path) -> Machine:
    """A fresh machine with the stand-ins."""
    subprocess.run([tool, "machine", str(folder)], check=True, capture_output=True, timeout=300)
    machine = Machine(tool, folder)
    shutil.copytree(MODULES, machine.path(rf"{BOOKS}\modules"))
    return machine
