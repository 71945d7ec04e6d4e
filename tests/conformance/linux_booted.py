"""One booted Linux machine for the cases with `machine: true`: lab/linuxnode, with real systemd and cgroups.

All cases run on it one after the other; `clean` removes the state of the last one. Its network has no route out: cases
with served files or secrets run only on machines of linux_machine.py.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.linuxnode import machine as node
from lab.linuxnode import network
from tests.conformance import linux_areas
from tests.conformance.linux_areas import Else
from tests.conformance.linux_machine import PROGRAMS, ROOT, SECONDS, STAND_INS, LinuxMachine

RANGE, ADDRESS = "10.77.67.0/24", "10.77.67.11"
CLEAN = f"""
for unit in $(systemctl list-unit-files --no-legend 'mullion-*' | cut -d' ' -f1); do systemctl disable --now $unit; done
rm -rf /etc/systemd/system/mullion-* /etc/systemd/system.conf.d/mullion-* {ROOT} {PROGRAMS} /var/lib/mullion
sed -i /MULLION/d /etc/environment; for user in $(grep -o '^mullion-[a-z]*' /etc/passwd); do userdel $user; done
systemctl daemon-reload; systemctl reset-failed; systemctl daemon-reexec
"""


class BootedMachine(LinuxMachine):
    """The machine; paths are those of plans."""

    python = "/usr/bin/python3"

    def __init__(self, folder: Path) -> None:
        """folder: empty."""
        self.folder, self.net = folder, f"mullion-case-{os.getpid()}"
        network.up(self.net, RANGE)
        network.add(self.net, "node", ADDRESS)
        assert node.boot(folder, f"{self.net}-node", "case") == 0, (folder / "boot.log").read_text()
        self.init = node.init(folder)
        self.root = Path(f"/proc/{self.init}/root")

    def close(self) -> None:
        """Power off for good."""
        node.stop(self.folder)
        network.down(self.net)

    def words(self, *argv: str) -> list[str]:
        """Return the words that start a program in the machine."""
        return ["nsenter", "--target", self.init, "--all", "--root", "--wd", *argv]

    def start(self, spec: dict[str, Any], number: int) -> Any:
        """Start the executor."""
        self.write(f"/run/case-{number}.json", json.dumps(spec))
        argv = self.words(self.python, "-I", "-S", "-B", f"{STAND_INS}/linux_run.py", f"/run/case-{number}.json")
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(argv, env=self.environment(), **options)

    def environment(self) -> dict[str, str]:
        """Return the environment of a program in the machine: no stand-ins."""
        return {**super().environment(), "PATH": f"{PROGRAMS}:{node.PATH}"}

    def boot(self) -> None:
        """Do nothing: the machine has booted."""

    def install_kernel(self) -> None:
        """Do nothing: the machine has a real kernel."""

    def clean(self) -> None:
        """Restore the state before the first case."""
        subprocess.run(self.words("sh", "-c", CLEAN), capture_output=True, check=False, timeout=SECONDS)


def _set_services(machine: LinuxMachine, wanted: dict[str, str]) -> None:
    for name, state in wanted.items():
        machine.call("systemctl", {"running": "start", "stopped": "stop"}[state], name)


def _services(machine: LinuxMachine) -> dict[str, Any]:
    units = [each.name for each in machine.place("/etc/systemd/system").glob("mullion-*.service")]
    if not units:
        return Else("absent", {})
    active = machine.call("systemctl", "show", "--property=ActiveState", "--value", *units).split()
    states = {"active": "running", "inactive": "stopped"}
    named = {unit.removesuffix(".service"): states.get(state, state) for unit, state in zip(units, active, strict=True)}
    return Else("absent", named)


def _set_variables(machine: LinuxMachine, wanted: dict[str, str | None]) -> None:
    linux_areas.set_variables(machine, wanted)
    machine.call("systemctl", "daemon-reexec")


def _variables(machine: LinuxMachine) -> dict[str, str]:
    lines = machine.call("systemctl", "show-environment").splitlines()
    pairs = [shlex.split(line.replace("=$'", "='"))[0].partition("=") for line in lines]
    return {name: value for name, _, value in pairs}


def _set_tasks(machine: LinuxMachine, wanted: dict[str, Any]) -> None:
    for name in wanted:
        machine.call("systemctl", "disable", "--now", f"mullion-{name}.timer")
        for ending in ("timer", "service"):
            machine.place(f"/etc/systemd/system/mullion-{name}.{ending}").unlink()
    machine.call("systemctl", "daemon-reload")


def _tasks(machine: LinuxMachine) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in machine.place("/etc/systemd/system").glob("mullion-*.timer"):
        if machine.call("systemctl", "show", "--property=ActiveState", "--value", file.name).strip() == "active":
            found |= linux_areas.scheduled(file.name, file.read_text())
    return found


SET: dict[str, Callable[[LinuxMachine, Any], None]] = linux_areas.SET | {
    "services": _set_services,
    "variables": _set_variables,
    "tasks": _set_tasks,
}
READ: dict[str, Callable[[LinuxMachine], Any]] = linux_areas.READ | {
    "services": _services,
    "variables": _variables,
    "tasks": _tasks,
}
