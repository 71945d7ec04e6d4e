"""Stand-in programs of cases on Windows: batch files, and a Wine program for services."""

import json
import subprocess
from typing import TYPE_CHECKING

from sandbox.boot.windows.registry import SERVICE
from sandbox.boot.windows.winpwsh import Machine
from tests.conformance.state import Program

if TYPE_CHECKING:
    from tests.conformance.windows_machine import Driver

INPUT = "$file = [IO.File]::Create($args[0]); [Console]::OpenStandardInput().CopyTo($file); $file.Dispose()"

HOST_LOCAL = r"""
$asked = ConvertFrom-Json ([Console]::In.ReadToEnd())
$folder = [IO.Directory]::CreateDirectory("$($args[0])\$($asked.name)").FullName
$holder = $env:CNI_CONTAINERID
$held = [IO.Directory]::GetFiles($folder) | Where-Object { [IO.File]::ReadAllLines($_)[0] -eq $holder }
if ($env:CNI_COMMAND -eq 'DEL') { $held | ForEach-Object { [IO.File]::Delete($_) }; return }
$network = $asked.ipam.ranges[0][0].subnet.Split('/')[0] -replace '\.\d+$'
if ($held) { throw "$holder holds $held already" }
$last = 2
while ([IO.File]::Exists("$folder\$network.$last")) { $last++ }
[IO.File]::WriteAllText("$folder\$network.$last", "$holder`r`n$env:CNI_IFNAME")
"""
"""Reserves one address for the holder, as the real program does: a file named after the address."""


def name(folder: str, program: str, what: Program | None) -> str:
    """Return the program's path."""
    return rf"{folder}\{program}{'.exe' if what and what.stays else '.cmd'}"


def write(machine: Machine, path: str, root: str, name: str, program: Program) -> None:
    """Write the program."""
    place = machine.path(path)
    if program.stays:
        place.write_bytes(machine.path(SERVICE).read_bytes())
        return
    for script, text in ((".input.ps1", INPUT), (".holds.ps1", HOST_LOCAL)):
        place.with_suffix(script).write_text(text)
    place.write_bytes("\r\n".join(_lines(root, name, program)).encode() + b"\r\n")


def _lines(root: str, name: str, program: Program) -> list[str]:
    ran = rf"{root}\ran\{name}"
    lines = [
        "@echo off",
        rf"if not exist {root}\ran md {root}\ran",
        "set line=%*",
        'if defined line set line=%line:"=%',
        f"echo.%line%>>{ran}",
    ]
    shell = "pwsh.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File"
    if program.keeps_input:
        lines.append(f"{shell} %~dpn0.input.ps1 {program.keeps_input}")
    if program.holds:
        lines.append(f"{shell} %~dpn0.holds.ps1 {program.holds}")
    if program.hangs:
        lines += [f'start /b cmd /c "ping -n 4 127.0.0.1 >nul & echo child>{ran}.child & ping -n 300 127.0.0.1 >nul"']
        lines += ["ping -n 300 127.0.0.1 >nul"]
    for count in range(program.fails_first):
        lines += [f"if not exist {ran}.{count} (echo x>{ran}.{count}", "exit /b 1)"]
    for path, text in program.creates.items():
        lines += [f"echo.{line}>{'>' if number else ''}{path}" for number, line in enumerate(text.splitlines() or [""])]
    lines += [f"echo.{line}" for line in _said(program.says).splitlines()]
    return [*lines, f"exit /b {program.exits}"]


def _said(text: str) -> str:
    """Return a Node object after other text as kubectl prints it for the executor's JSONPath; any other text as it is.

    tests/cloud_init/test_windows_kinds.py asks the real kubectl.
    """
    before, found, rest = text.partition('{"metadata":')
    if not found:
        return text
    node = json.loads(found + rest)
    status = node.get("status", {})
    ready: dict[str, str] = next((each for each in status.get("conditions", []) if each["type"] == "Ready"), {})
    fields = {
        "node": "web-0",
        "providerID": node["spec"].get("providerID", ""),
        "kubeletVersion": status.get("nodeInfo", {}).get("kubeletVersion", ""),
        "taints": " ".join(each["key"] for each in node["spec"].get("taints", [])),
        "ready": ready.get("status", ""),
        **{f"label {name}": value for name, value in node["metadata"].get("labels", {}).items()},
        "message": ready.get("message", ""),
    }
    return "\n".join([before, *(f"{name}={value}" for name, value in fields.items())])


def service(driver: "Driver", name: str, state: str) -> None:
    """Set up a service with another command, as if another program had created it."""
    if state == "absent":
        return
    machine = driver.machine
    words = [machine.tool, "run", str(machine.folder), "sc.exe", "create", name, "binPath=", SERVICE, "start=", "auto"]
    subprocess.run(words, check=False, capture_output=True, timeout=60)


__all__ = ["SERVICE", "name", "service", "write"]
