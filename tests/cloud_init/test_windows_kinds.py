"""Functions of the executor's kinds that conformance cases cannot reach, under real PowerShell."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import LOADED
from tests.cloud_init.windows import place
from tests.conformance.windows_programs import SERVICE

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

RUN = rf"$run = New-Run (Read-Json '{MULLION}\machine.json') $false; $run.Limit = 60"


def said(machine: Machine, cloud: FakeCloud, *lines: str) -> list[str]:
    """Return the output lines of PowerShell lines that use functions of the executor. The machine has 10.20.1.4."""
    place(machine, cloud, [])
    for folder in (BOOKS, r"C:\ProgramData\mullion"):
        machine.path(folder).mkdir(parents=True, exist_ok=True)
    code, output = machine.pwsh("; ".join([LOADED, RUN, *lines, "exit 0"]))
    assert code == 0, output
    return output.splitlines()


def test_of_several_default_routes_that_of_the_planned_address_is_taken(machine: Machine, cloud: FakeCloud) -> None:
    row = "[pscustomobject] @{{ InterfaceIndex = {}; NextHop = '{}'; RouteMetric = {}; InterfaceMetric = {} }}"
    rows = (9, "10.9.0.1", 1, 5), (7, "10.20.1.1", 20, 15), (8, "10.8.0.1", 5, 1)
    lines = (
        f"function Get-NetRoute {{ {'; '.join(row.format(*each) for each in rows)} }}",
        "function Get-NetIPAddress { $Addresses }",
        "$rows = '9 10.9.0.4', '7 10.20.1.4', '8 10.8.0.4'",
        "$Addresses = $rows | ConvertFrom-Csv -Delimiter ' ' -Header InterfaceIndex, IPAddress",
        "(Get-DefaultRoute $run).InterfaceIndex",
        "$Addresses = @()",
        "(Get-DefaultRoute $run).InterfaceIndex",
    )
    assert said(machine, cloud, *lines) == ["7", "8"], "without the address the lowest sum, then the lowest index"


def test_a_url_is_asked_without_the_accounts_proxy(machine: Machine, cloud: FakeCloud) -> None:
    url = f"{cloud.url}/latest/meta-data/instance-id"
    lines = (
        "$dead = 'http://127.0.0.1:9'; $env:http_proxy = $dead; $env:no_proxy = ''",
        "[Net.WebRequest]::DefaultWebProxy = [Net.WebProxy]::new($dead)",
        f"Test-Url $run '{url}'",
        "$run.Egress = @{ proxy = @{ http = $dead } }",
        "Test-Url $run 'http://10.99.0.1/'",
    )
    assert said(machine, cloud, *lines) == ["True", "False"], "a planned proxy is used"


def test_a_feature_that_fails_is_reported_with_the_cmdlets_errors(machine: Machine, cloud: FakeCloud) -> None:
    module = machine.path(rf"{BOOKS}\modules\servers\servers.psm1")
    module.parent.mkdir(parents=True)
    module.write_text(
        "function Install-Refused { Write-Error 'source files not found'; "
        "[pscustomobject] @{ Success = $false; ExitCode = 'Failed'; RestartNeeded = 'No' } }\n"
        "function Install-Ended { Write-Error 'servicing is busy'; throw 'the server is locked' }\n"
    )
    (module.parent / "servers.psd1").write_text(
        "@{ ModuleVersion = '1.0'; RootModule = 'servers.psm1'; "
        "FunctionsToExport = 'Install-Refused', 'Install-Ended' }"
    )
    ask = "try {{ Set-FeatureStep $run @{{ feature = 'Containers' }} }} catch {{ $_.Exception.Message }}"
    lines = (
        "Copy-Item Function:\\Invoke-SlowCmdlet Function:\\Invoke-Real",
        "function Invoke-SlowCmdlet { Invoke-Real $args[0] $Asked @{} }",
        f"$Asked = 'Install-Refused'; {ask.format()}",
        f"$Asked = 'Install-Ended'; {ask.format()}",
    )
    assert said(machine, cloud, *lines) == [
        "Containers: Failed source files not found",
        "Containers:  servicing is busy; the server is locked",
    ]


def test_a_service_whose_key_is_unreadable_does_not_keep_others_from_being_stopped(
    machine: Machine, cloud: FakeCloud
) -> None:
    program = machine.path(r"C:\own\own.exe")
    program.parent.mkdir()
    program.write_bytes(machine.path(SERVICE).read_bytes())
    lines = (
        r"sc.exe create own binPath= C:\own\own.exe start= demand | Out-Null; sc.exe start own | Out-Null",
        "Copy-Item Function:\\Get-RegistryValue Function:\\Get-Readable",
        "$refused = [Security.SecurityException]::new('Requested registry access is not allowed.')",
        r"function Get-RegistryValue { if ($args[0] -notlike '*\own*') { throw $refused }; Get-Readable @args }",
        r"Stop-Replaced $run @{ Target = 'C:\own'; Seen = @{ 'own.exe' = $true } }",
        "Get-ServiceState own",
    )
    assert said(machine, cloud, *lines) == ["Stopped"]


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "web-0", "labels": {"mullion.dev/pool": "web", "A": "1", "a": "2"}},
    "spec": {"providerID": "aws:///z/i-1", "taints": [{"key": "os"}, {"key": "gpu"}]},
    "status": {"conditions": [{"type": "DiskPressure"}, {"type": "Ready", "status": "False", "message": "no\nCNI"}]},
}


def test_kubectl_picks_the_fields_of_a_node_whose_labels_differ_only_in_case(
    machine: Machine, cloud: FakeCloud, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> None:
    program = shutil.which("kubectl")
    if not program:
        missing("kubectl", "no kubectl: install it")
    step = (
        "$step = @{ node = 'web-0'; kubeconfig = 'k'; kubectl = 'kubectl'; labels = @{ 'mullion.dev/pool' = 'web' } }"
    )
    asks = (
        r"function Invoke-Kubectl { [IO.File]::WriteAllText('C:\asked.txt', $args[2][-1]) }; Get-NodeField $run $step"
    )
    assert said(machine, cloud, step, asks) == []
    (tmp_path / "node.json").write_text(json.dumps(NODE))
    words = [program, "label", "--local", f"--filename={tmp_path / 'node.json'}", "x=y"]
    asked = [*words, machine.path(r"C:\asked.txt").read_text()]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True)
    machine.path(r"C:\said.txt").write_text(f"{shown.stdout}Warning: a=b\n")
    reads = r"function Invoke-Kubectl { [IO.File]::ReadAllText('C:\said.txt') }; $fields = Get-NodeField $run $step"
    names = "node", "providerID", "kubeletVersion", "taints", "ready", "label mullion.dev/pool", "message"
    shows = [f"\"$($fields['{name}']);\"" for name in names]
    assert said(machine, cloud, step, reads, *shows) == [
        "web-0;", "aws:///z/i-1;", ";", "os gpu;", "False;", "web;", "no;"
    ]  # fmt: skip


def test_a_run_waits_some_seconds_for_a_look_of_the_network_watch_to_end(machine: Machine, cloud: FakeCloud) -> None:
    holds = "$lock = [Threading.Mutex]::new($false, 'Global\\mullion'); [void]$lock.WaitOne(); "
    holds += r"[IO.File]::WriteAllText('C:\held.txt', ''); [Threading.Thread]::Sleep(4000); $lock.ReleaseMutex()"
    lines = (
        f'[void][PowerShell]::Create().AddScript("{holds.replace("$", "`$")}").BeginInvoke()',
        r"while (-not [IO.File]::Exists('C:\held.txt')) { [Threading.Thread]::Sleep(20) }",
        rf"& '{FOLDER}\node.ps1'; 'ended with {{0}}' -f $LASTEXITCODE",
    )
    assert said(machine, cloud, *lines)[-1] == "ended with 0"
