"""Lint of scripts for Windows PowerShell 5.1 on a Windows Server, with the rules of a node's scripts."""

import json
from pathlib import Path

import pytest

from sandbox.boot.windows import host
from sandbox.boot.windows.winpwsh import new_machine
from tests.cloud_init.test_powershell import COMMANDS, COMMON, FORBIDDEN, LINT, MEMBERS, OPERATORS, TYPES

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

CARDS: dict[str, list[str]] = {
    "Get-ChildItem": [],
    "Get-NetIPAddress": ["IPAddress"],
    "Get-NetRoute": ["DestinationPrefix"],
    "Invoke-WebRequest": ["Method", "Uri", "Headers", "UseBasicParsing"],
    "New-NetIPAddress": ["IPAddress", "PrefixLength", "DefaultGateway"],
    "New-NetRoute": ["InterfaceAlias", "DestinationPrefix", "NextHop"],
    "New-ScheduledTaskAction": ["Execute", "Argument"],
    "Remove-NetIPAddress": [],
    "Set-DnsClientServerAddress": ["InterfaceAlias", "ServerAddresses"],
    "Set-NetIPInterface": ["Dhcp", "InterfaceMetric"],
    "Import-Module": [],
}
"""Cmdlets besides those of a node's scripts, in Windows Server 2019 too (learn.microsoft.com, NetTCPIP, DnsClient)."""


def test_scripts_for_a_windows_server_use_only_features_of_windows_powershell_5_1(winpwsh: str, tmp_path: Path) -> None:
    machine = new_machine(winpwsh, tmp_path / "machine")
    for name, text in (("host.ps1", host.SCRIPT.read_text()), ("boot.ps1", host.BOOT.read_text())):
        machine.path(r"C:\scripts").mkdir(exist_ok=True)
        # the lint expects a script of functions alone
        (machine.path(r"C:\scripts") / name).write_text(text.replace("Export-ModuleMember -Function *", ""))
    commands = {name: [*known, *COMMON] for name, known in {**COMMANDS, **CARDS}.items()}
    forbidden = [each for each in FORBIDDEN if each != "Invoke-WebRequest"]
    rules = {
        "operators": OPERATORS, "forbidden": forbidden, "members": MEMBERS, "commands": commands, "types": TYPES,
    }  # fmt: skip
    machine.path(r"C:\lint.json").write_text(json.dumps(rules))
    machine.path(r"C:\lint.ps1").write_bytes(LINT.read_bytes())
    assert machine.pwsh(r"& C:\lint.ps1")[1].strip() == ""
    machine.cut()
