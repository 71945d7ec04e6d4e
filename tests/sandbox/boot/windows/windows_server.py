"""A stand-in for a Windows Server: a winpwsh machine in its own network, reached by commands alone.

    python -m tests.sandbox.boot.windows.windows_server FOLDER new|start|stop
    python -m tests.sandbox.boot.windows.windows_server FOLDER powershell WORD...

FOLDER/about.json names tool, network namespace and interface. Each command ends with an error where the real one would:
PowerShell while the power is off or Windows still boots, power that is there twice, words or input of another form.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from sandbox.boot.windows.server import command
from sandbox.boot.windows.winpwsh import BOOKS, Machine, inside, new_machine

BOOTS = 2
"""Calls of PowerShell that fail after power-on."""
STDIN = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", "-"]
LINE = re.compile(r"& \(\[ScriptBlock\]::Create\([^\n]*'[A-Za-z0-9+/=]*'\)\)\)\)\n")
INPUT = r"C:\stdin.txt"


class Windows(Machine):
    """The machine; its output is a file, because services that a run starts hold it open."""

    said: "IO[str] | int" = subprocess.DEVNULL

    def output(self) -> "IO[str] | int":
        return self.said


class Refused(Exception):
    """An error of the command, with exit code 255 as of ssh."""


class Server:
    """One server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about: dict[str, Any] = json.loads((folder / "about.json").read_text())
        etc = folder / "etc"
        etc.mkdir(exist_ok=True)
        (etc / "hosts").write_text("127.0.0.1 localhost winserver\n")
        self.machine = Windows(self.about["tool"], folder / "machine", inside(self.about["space"], "winserver", etc))
        self.on = folder / "on"
        """File that exists while it has power, with the number of failed calls since power-on."""

    def new(self) -> None:
        """Create a new disk."""
        if self.on.exists():
            raise Refused("the machine is running")
        subprocess.run(["rm", "-rf", str(self.folder / "machine")], check=True)
        made = new_machine(self.about["tool"], self.folder / "machine")
        # the sandbox must provide its own
        subprocess.run(["rm", "-rf", str(made.path(rf"{BOOKS}\modules\boot"))], check=True)
        stand_ins = made.path(rf"{BOOKS}\modules\card")
        stand_ins.mkdir()
        (stand_ins / "card.psm1").write_text(Path(__file__).with_name("card.psm1").read_text())

    def start(self) -> None:
        """Power."""
        if self.on.exists() or not (self.folder / "machine").exists():
            raise Refused("the machine is running" if self.on.exists() else "the machine has no disk")
        self.on.write_text("0")
        self.machine.stay_on()
        self._network()
        for name, task in self.machine.kept("tasks").items():
            if task["trigger"]["AtStartup"]:
                self._task(name, task)

    def stop(self) -> None:
        """No power."""
        if not self.on.exists():
            raise Refused("the machine is not running")
        self.on.unlink()
        self.machine.cut()

    def powershell(self, words: list[str], line: str) -> int:
        """PowerShell, reading its standard input."""
        if not self.on.exists() or (boots := int(self.on.read_text())) < BOOTS or self.about.get("deaf"):
            if self.on.exists():
                self.on.write_text(str(int(self.on.read_text()) + 1))
            raise Refused("ssh: connect to host winserver port 22: Connection refused")
        if words != STDIN or not LINE.fullmatch(line):
            raise Refused(f"{boots}: PowerShell for standard input was to be started, not {words} with {line[:200]!r}")
        before = len(self.machine.asked())
        self.machine.path(INPUT).write_text(line)
        code = self._run(f"Import-Module card; Invoke-Expression ([IO.File]::ReadAllText('{INPUT}'))", "output").wait(
            300
        )
        said = (self.folder / "output").read_text(errors="replace")
        (sys.stderr if code else sys.stdout).write(said)
        self._network()
        for each in self.machine.asked()[before:]:
            if each["name"] == "Start-ScheduledTask":
                self._task(each["asked"]["TaskName"], self.machine.kept("tasks")[each["asked"]["TaskName"]])
        return code

    def _run(self, command: str, output: str) -> "subprocess.Popen[str]":
        with (self.folder / output).open("w") as self.machine.said:
            return self.machine.start(command, 120)

    def _task(self, name: str, task: dict[str, Any]) -> None:
        """The task scheduler starts it."""
        self._run(command(name, task), f"task-{name}-{time.time_ns()}")

    def _network(self) -> None:
        """The card has what the books say."""
        for address in self.machine.kept("addresses").values():
            if address.get("InterfaceAlias") == self.about["card"] and address.get("Gateway"):
                ip = ["ip", "-n", self.about["space"]]
                device = ("dev", self.about["interface"])
                subprocess.run(
                    [*ip, "addr", "replace", f"{address['IPAddress']}/{address['PrefixLength']}", *device], check=True
                )
                subprocess.run([*ip, "route", "replace", "default", "via", address["Gateway"], *device], check=True)


def main(folder: str, verb: str, *words: str) -> int:
    """Run a command."""
    here = Server(Path(folder))
    with (here.folder / "asked").open("a") as file:
        file.write(f"{verb}\n")
    try:
        if verb == "powershell":
            return here.powershell(list(words), sys.stdin.read())
        {"new": here.new, "start": here.start, "stop": here.stop}[verb]()
    except Refused as refused:
        sys.stderr.write(f"{refused}\n")
        return 255
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
