"""Removal of HNS objects (modules/hns-requests.ps1), with answers of HNS in place of its library; repairs of routes."""

import json

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.winpwsh import BOOKS, Machine

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

MODULES = (
    "modules/json",
    "modules/run",
    "modules/reports",
    "modules/redaction",
    "modules/deadline",
    "modules/hns-requests",
    "kinds/network",
    "kinds/flannel",
)

GONE = '{"Error":"The network was not found. ","ErrorCode":2151350273,"Success":false}'
"""Answer of 17763.1554 to the removal of a load balancer whose network is gone (Azure/aks-engine pull request 3956)."""

LISTS: dict[str, str] = {
    "networks": '{"ID":"n1","Name":"cbr0"}',
    # kube-proxy names no endpoint of another node's pod
    "endpoints": '{"ID":"e1","VirtualNetwork":"n1"},{"ID":"e2","Name":"other","VirtualNetwork":"n2"},{"ID":"e3"}',
    "policylists": '{"ID":"bad"},{"ID":"good"}',
    "portpools": '{"PortPoolAllocations":[{"RequiresHostPortReservation":true,"PortRanges":[{"LowerPort":50000}]}]}',
}

HNS = """
$global:Asked = [Collections.ArrayList]::new()
function Invoke-HnsCall([string] $Method, [string] $Path) {
    if ($Method -eq 'GET') { return 0, ('{"Success":true,"Output":[' + $global:Lists[$Path.Trim('/')] + ']}') }
    [void]$global:Asked.Add("$Method $Path")
    if ($Path -eq '/policylists/bad') { return 1, $global:Gone }
    if ($Path -eq '/policylists/hangs') {
        $failure = New-Failure 'network-missing' 'HNS does not answer'
        $failure.Data['hns-silent'] = $true
        throw $failure
    }
    if ($Path -eq '/networks/n1') { $global:Lists['networks'] = ''; $global:Lists['endpoints'] = '' }
    0, '{"Success":true}'
}
function Start-Sleep { [void]$global:Asked.Add('wait'); $global:Lists['portpools'] = '' }
"""
"""HNS that keeps one load balancer, and the ports of a removed network until the next look."""


def ran(machine: Machine, command: str) -> list[str]:
    """Return what the command printed, with the modules loaded and HNS replaced."""
    for name in MODULES:
        copy = machine.path(rf"C:\{name.partition('/')[2]}.ps1")
        copy.write_bytes((CLOUD_INIT / "windows" / f"{name}.ps1").read_bytes())
    lists = "; ".join(f"$global:Lists['{name}'] = '{each}'" for name, each in LISTS.items())
    machine.path(r"C:\hns.ps1").write_text(HNS)
    names = ", ".join(f"'{name.partition('/')[2]}'" for name in MODULES)
    code, said = machine.pwsh(
        "Set-StrictMode -Version 2.0; $ErrorActionPreference = 'Stop'; "
        rf"foreach ($name in {names}, 'hns') {{ . C:\$name.ps1 }}; "
        f"$global:Lists = @{{}}; {lists}; $global:Gone = '{GONE}'; "
        "function Write-Said { param($Run, $Text) [Console]::Out.WriteLine($Text) }; "
        f"$Run = @{{ Watch = [Diagnostics.Stopwatch]::StartNew(); Limit = 9 }}; {command}; $global:LASTEXITCODE = 0"
    )
    assert code == 0, said
    return said.splitlines()


def test_a_network_is_removed_after_its_endpoints_although_a_load_balancer_stays_and_some_have_no_name(
    machine: Machine,
) -> None:
    remove = "Remove-HnsNetwork $Run (Get-HnsObject 'networks' 'cbr0')"
    found, said, *asked = ran(machine, f"(Get-HnsObject 'endpoints' 'other').ID; {remove}; $global:Asked")
    assert found == "e2"
    assert "policylists bad" in said
    assert "The network was not found" in said
    removed = ["policylists/bad", "policylists/good", "endpoints/e1", "networks/n1"]
    assert asked == [*(f"DELETE /{each}" for each in removed), "wait"]


def test_a_run_repairs_no_routes_before_their_step_and_says_once_why_a_repair_fails(machine: Machine) -> None:
    machine.path(BOOKS).mkdir(parents=True, exist_ok=True)
    (machine.path(BOOKS) / "away.json").write_text(json.dumps({"made": 0, "left": -1}))
    fails = "try { Test-MetadataRouteStep $Run @{ addresses = @('169.254.169.254') } } catch { 'no route' }"
    repair = "Repair-MetadataRoute $Run"
    said = ran(
        machine,
        f"$Run = New-Run @{{ machine = @{{}}; facts = @{{}} }} $false; {repair}; {fails}; {repair}; {repair}",
    )
    assert said == ["no route", "routes to the cloud's services: the machine has no default route"]


def test_the_removal_of_load_balancers_ends_at_the_first_one_for_which_hns_does_not_answer(machine: Machine) -> None:
    lists = """$global:Lists['policylists'] = '{"ID":"hangs"},{"ID":"good"}'"""
    said = ran(machine, f"{lists}; try {{ Remove-HnsPolicyList $Run }} catch {{ $_.Exception.Message }}; $global:Asked")
    assert said == ["HNS does not answer", "DELETE /policylists/hangs"]


def test_the_removal_of_load_balancers_ends_once_the_limit_of_the_step_is_over(machine: Machine) -> None:
    said = ran(
        machine, "$Run.Limit = 0; try { Remove-HnsPolicyList $Run } catch { $_.Exception.Message }; $global:Asked"
    )
    assert said == ["HNS did not remove all policylists within 0 s"]


SLOW = """
$PollSeconds = 0.1
$Run.Started = @{}
function Get-ServiceState { 'Running' }
function Get-OverlayProblem {
    [Console]::Out.WriteLine('look'); [Threading.Thread]::Sleep(400); return 'overlay-missing', 'no network'
}
function Restart-Flanneld { }
function Repair-MetadataRoute { }
"""
"""Looks of 400 ms."""


def test_the_starts_of_flanneld_divide_the_time_of_the_step_although_its_looks_are_slow(machine: Machine) -> None:
    fails = "try { Set-OverlayNetworkStep $Run @{ service = 'flanneld' } } catch { $_.Exception.Message }"
    *said, why = ran(machine, f"{SLOW}; $Run.Limit = 1; {fails}")
    assert why == "no network, after 3 starts of flanneld"
    assert [line for line in said if line != "look"] == ["no network: flanneld is started anew"] * 2
    assert said.count("look") <= 4, "3 looks last 1.2 s"


NEW_HNS = """
$PollSeconds = 0.1
$made = $false
function Get-ServiceState { 'Running' }
function Get-OverlayProblem { if (-not $made) { return 'overlay-missing', 'no network' } }
function Stop-PlannedService { }
function Start-PlannedService { $script:made = $true; $Run.Started['flanneld'] = [Diagnostics.Stopwatch]::StartNew() }
function Repair-MetadataRoute { }
$Run.Started = @{ hns = [Diagnostics.Stopwatch]::StartNew() }
"""
"""HNS that this run has restarted, while flanneld ran on; flanneld makes its network at its start only."""


def test_a_flanneld_that_ran_before_hns_was_restarted_is_started_anew_at_once(machine: Machine) -> None:
    step = "@{ service = 'flanneld' }"
    said = ran(
        machine,
        f"{NEW_HNS}; $Run.Limit = 60; Set-OverlayNetworkStep $Run {step}; [int] $Run.Watch.Elapsed.TotalSeconds",
    )
    assert int(said[-1]) < 15, "a third of the step's time is 20 s"


def test_a_process_of_hns_that_has_just_ended_says_nothing(machine: Machine) -> None:
    wmi = "function Get-CimInstance { [pscustomobject] @{ ProcessId = 2147483000 } }"
    assert ran(machine, f"{wmi}; [Console]::Out.WriteLine($null -eq (Get-HnsProcess))") == ["True"]


def test_a_list_longer_than_windows_powershell_can_parse_is_parsed_object_by_object(machine: Machine) -> None:
    names = ["plain", 'quote " and brace }', "back\\slash", "", "[{}]"]
    objects = [
        {"ID": str(at), "Name": name, "Policies": [{"Type": "ACL", "In": {"Deep": [{}]}}]}
        for at, name in enumerate(names)
    ]
    answer = json.dumps({"Success": True, "Output": objects}).encode().hex()
    bytes_of_it = f"[byte[]] @('{answer}' -split '(..)' -ne '' | ForEach-Object {{ \"0x$_\" }})"
    text = f"$text = [Text.Encoding]::UTF8.GetString({bytes_of_it})"
    show = "ConvertTo-Json -Compress -Depth 9 (ConvertFrom-HnsAnswer $text)"
    short, long = ran(machine, f"{text}; {show}; $JsonMost = 100; {show}")
    assert json.loads(short) == json.loads(long) == {"Success": True, "Output": objects}
    empty = 'ConvertTo-Json -Compress (ConvertFrom-HnsAnswer \'{"Success":true,"Output":[]}\')'
    assert json.loads(ran(machine, f"$JsonMost = 5; {empty}")[0]) == {"Success": True, "Output": []}
