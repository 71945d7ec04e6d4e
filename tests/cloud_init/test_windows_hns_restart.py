"""Restarts of HNS (modules/hns-restart.ps1), and what leads to them, on a machine with services of these names."""

import json
import threading

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import BOOT, LOADED, STATE, change, log
from tests.cloud_init.windows import place, until
from tests.conformance.windows_programs import SERVICE

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

NAMES = {"hns": "", "first": "hns", "second": "first", "idle": "hns"}
"""Services, and what each depends on; all but idle run."""
STEPS = [
    {"kind": "stale-network", "name": "last-boot", "network": "flannel.4096", "data_directory": "/cni", "services": []}
]
SEEN = "; ".join(f"'{name} ' + (Get-ServiceState '{name}')" for name in NAMES)
STOP_HANGS = """
Update-TypeData -TypeName System.ServiceProcess.ServiceController -MemberType ScriptMethod -MemberName Stop -Force `
    -Value { if ($this.ServiceName -ne 'hns') { return $this.PSBase.Stop() }
        $this.DependentServices | Where-Object { "$($_.Status)" -ne 'Stopped' } | ForEach-Object {
            $_.PSBase.Stop(); $_.WaitForStatus('Stopped', '00:00:30') }
        throw 'The service did not respond to the control request in a timely fashion' }
"""
"""Lets a stop of hns end as on Windows if HNS hangs: its dependents are stopped, HNS itself runs on."""
STOPS_FOREVER = """
$real = ${Function:Get-ServiceState}; $stopping = @{ hns = $false }
function Get-ServiceState { param([string] $Name) if ($stopping[$Name]) { 'StopPending' } else { & $real $Name } }
Update-TypeData -TypeName System.ServiceProcess.ServiceController -MemberType ScriptMethod -MemberName Stop -Force `
    -Value { $stopping[$this.ServiceName] = $true }
Update-TypeData -TypeName System.ServiceProcess.ServiceController -MemberType ScriptMethod -MemberName Start -Force `
    -Value { throw "Cannot start service $($this.ServiceName) on computer '.'." }
"""
"""Lets a stop of hns begin and never end; Windows starts no service in that state."""


@pytest.fixture
def server(machine: Machine, cloud: FakeCloud) -> Machine:
    """Return a machine with the executor, and services that depend on HNS."""
    place(machine, cloud, STEPS)
    machine.path(BOOKS).mkdir(parents=True, exist_ok=True)
    words: list[str] = []
    for name, needs in NAMES.items():
        program = machine.path(rf"C:\k\{name}.exe")
        program.parent.mkdir(exist_ok=True)
        program.write_bytes(machine.path(SERVICE).read_bytes())
        depends = f" depend= {needs}" if needs else ""
        words.append(rf"sc.exe create {name} binPath= C:\k\{name}.exe start= demand{depends}")
    # Wine starts no service for another one
    started = [f"sc.exe start {name}" for name in NAMES if name != "idle"]
    code, said = machine.pwsh("; ".join([*words, *started]))
    assert code == 0, said
    return machine


def said_by(machine: Machine, command: str) -> list[str]:
    """Return what the command printed, with the executor's functions and a run whose limit is over."""
    code, said = machine.pwsh(
        f"{LOADED}; {BOOT}; "
        f"$Run = New-Run @{{ machine = @{{}}; facts = @{{}} }} $false; $Run.Limit = 0; {command}; "
        "$global:LASTEXITCODE = 0"
    )
    assert code == 0, said
    return said.splitlines()


def test_a_restart_of_hns_in_its_own_time_starts_dependents_again_and_happens_once_in_a_boot(server: Machine) -> None:
    identity = "(Get-Process hns).Id"
    before, done, after, *states, again, last = said_by(
        server, f"{identity}; Restart-Hns $Run 'it hangs'; {identity}; {SEEN}; Restart-Hns $Run 'again'; {identity}"
    )
    assert (done, again) == ("True", "False")
    assert before != after == last
    assert states == ["hns Running", "first Running", "second Running", "idle Stopped"]
    assert "again: the one restart of HNS in this boot is used up, restart the machine" in log(server)


def test_hns_that_does_not_stop_runs_on_with_its_dependents(server: Machine) -> None:
    change(server, r"modules\hns-restart", "$HnsRestartSeconds = 120", "$HnsRestartSeconds = 20")
    failed, *states = said_by(
        server, f"{STOP_HANGS}; try {{ Restart-Hns $Run 'it hangs' }} catch {{ $_.Exception.Message }}; {SEEN}"
    )
    assert failed == "it hangs; hns does not stop, it is Running: restart the machine"
    assert states == ["hns Running", "first Running", "second Running", "idle Stopped"]


def test_hns_that_stops_for_ever_is_named_as_the_reason_although_windows_refuses_its_start(server: Machine) -> None:
    change(server, r"modules\hns-restart", "$HnsRestartSeconds = 120", "$HnsRestartSeconds = 2")
    failed, *_ = said_by(
        server, f"{STOPS_FOREVER}; try {{ Restart-Hns $Run 'it hangs' }} catch {{ $_.Exception.Message }}"
    )
    assert failed == "it hangs; hns does not stop, it is StopPending: restart the machine"


def test_the_executor_restarts_hns_that_hangs_once_in_a_boot(server: Machine) -> None:
    hns = server.hns
    assert hns
    change(server, r"modules\hns-requests", "$HnsSeconds = 120", "$HnsSeconds = 3")
    change(server, r"modules\steps", "$Waits = 2, 5, 10, 20, 40", "$Waits = 0, 0, 0, 0, 0")
    hns.answers.clear()
    threading.Thread(target=lambda: until(lambda: "HNS is restarted" in log(server), 200) or hns.answers.set()).start()
    code, said = server.pwsh(f"{BOOT}; & '{FOLDER}\\node.ps1'", 200)
    assert code == 0, said
    assert "HNS does not answer GET /policylists within 3 s" in log(server)
    memory = json.loads(server.path(rf"{STATE}\state.json").read_text())
    assert (memory["hns_restarted"], memory["cleared"]) == (3, {"flannel.4096": 3})
    del memory["cleared"]
    server.path(rf"{STATE}\state.json").write_text(json.dumps(memory))
    hns.answers.clear()
    try:
        assert server.pwsh(f"{BOOT}; & '{FOLDER}\\node.ps1'", 200)[0] == 1
    finally:
        hns.answers.set()
    assert server.result()["name"] == "network-missing"
    assert "the one restart of HNS in this boot is used up, restart the machine" in log(server)


def test_one_call_that_hns_does_not_answer_in_time_restarts_nothing(server: Machine) -> None:
    hns = server.hns
    assert hns
    change(server, r"modules\hns-requests", "$HnsSeconds = 120", "$HnsSeconds = 3")
    change(server, r"modules\steps", "$Waits = 2, 5, 10, 20, 40", "$Waits = 2, 0, 0, 0, 0")
    hns.answers.clear()
    threading.Thread(target=lambda: until(lambda: "again in 2 s" in log(server), 200) or hns.answers.set()).start()
    code, said = server.pwsh(f"{BOOT}; & '{FOLDER}\\node.ps1'", 200)
    assert code == 0, said
    assert log(server).count("HNS does not answer GET /policylists within 3 s") == 1
    assert "HNS is restarted" not in log(server)
    assert "hns_restarted" not in json.loads(server.path(rf"{STATE}\state.json").read_text())
