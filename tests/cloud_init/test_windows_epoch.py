"""collect-logs.ps1 -Requested after a restore: programs that watch the cluster restart once per epoch."""

import json

import pytest

from sandbox.boot.windows.winpwsh import FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import BOOT, HNS_RESTARTS, KUBE_PROXY, LOADED, log, looks, memory, starts
from tests.cloud_init.watched_node import LOOK as LOOK_AT_NETWORK
from tests.cloud_init.watched_node import MADE as WATCHED
from tests.cloud_init.watched_node import node as watched
from tests.cloud_init.windows import place
from tests.conformance.windows_programs import SERVICE

__all__ = ["watched"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]
FOLLOWED = r"C:\ProgramData\mullion\epoch"
SERVICES = ("kubelet", "flanneld", "kube-proxy")
MADE = "; ".join(
    [rf"sc.exe create {each} binPath= C:\k\{each}.exe start= demand | Out-Null" for each in SERVICES]
    + [
        "Register-ScheduledTask -TaskName mullion -Action @{} -Trigger @{} -Principal @{} -Settings @{} | Out-Null",
        "'kubelet', 'kube-proxy' | ForEach-Object { sc.exe start $_ | Out-Null }",
    ]
)
"""The services and the boot task; flanneld is stopped."""
LOOK = rf"& '{FOLDER}\collect-logs.ps1' -Requested"
NUMBERS = "('kubelet', 'flanneld', 'kube-proxy' | ForEach-Object { [int] (Get-Process $_ -EA Ignore).Id }) -join ' '"


@pytest.fixture
def node(machine: Machine, cloud: FakeCloud) -> Machine:
    """Return a machine with the programs of the three services."""
    place(machine, cloud, [])
    store = f"{cloud.url}/bundles"
    told = json.loads(machine.path(rf"{MULLION}\machine.json").read_text())
    told["facts"] |= {"bundle_store": store, "status_url": f"{store}/status/AROAEXAMPLE%3A"}
    machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))
    machine.path(FOLLOWED).parent.mkdir(parents=True)
    for service in SERVICES:
        program = machine.path(rf"C:\k\{service}.exe")
        program.parent.mkdir(exist_ok=True)
        program.write_bytes(machine.path(SERVICE).read_bytes())
    return machine


def looked(machine: Machine, times: int, before: str = "$null = 0") -> list[list[str]]:
    """Return the services' process ids (0: stopped, always flanneld) before the first poll and after each."""
    words = [before, NUMBERS, *(f"{LOOK}; {NUMBERS}" for _ in range(times))]
    code, said = machine.pwsh("; ".join(words) + "; $global:LASTEXITCODE = 0")
    assert code == 0, said
    return [line.split() for line in said.splitlines() if line.replace(" ", "").isdigit()]


def test_running_services_restart_once_for_an_epoch_and_failed_starts_are_left_to_the_executor(
    node: Machine, cloud: FakeCloud
) -> None:
    before, without = looked(node, 1, MADE)
    assert before == without, "no restore was published"
    cloud.objects["/bundles/epoch.json"] = b'{"epoch": 2}'
    before, first, second = looked(node, 2)
    assert [each == "0" for each in before] == [False, True, False]
    assert [each == "0" for each in first] == [False, True, False], "a stopped service stays stopped"
    assert not set(first) & set(before) - {"0"}
    assert second == first
    assert node.path(FOLLOWED).read_text() == "2"
    cloud.objects["/bundles/epoch.json"] = b'{"epoch": 3}'
    before, after = looked(node, 1, r"[IO.File]::Move('C:\k\kube-proxy.exe', 'C:\k\gone.exe')")
    assert after[0] not in ("0", before[0])
    assert node.path(FOLLOWED).read_text() == "2", "the next poll tries again"
    assert {"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}} in node.asked()


def test_programs_that_start_after_a_restore_are_not_restarted_for_it(node: Machine, cloud: FakeCloud) -> None:
    cloud.objects["/bundles/epoch.json"] = b'{"epoch": 2}'
    assert node.node()[0] == 0, "the first run: no program runs yet"
    assert node.path(FOLLOWED).read_text() == "2"
    before, after = looked(node, 1, MADE)
    assert before == after
    cloud.objects["/bundles/epoch.json"] = b'{"epoch": 3}'
    assert node.pwsh(f"{node.run_node} -Check; {node.run_node}; $global:LASTEXITCODE = 0")[0] == 0
    assert node.path(FOLLOWED).read_text() == "2", "they run since before the restore"
    before, after = looked(node, 1)
    assert not set(after) & set(before) - {"0"}


def test_a_restart_that_fails_is_tried_three_times_an_hour(watched: Machine) -> None:
    fails = "function Restart-Watcher { throw 'kubelet does not stop' }; $Limits['epoch'] = 3, 3600"
    asked = r"Invoke-NewEpoch (New-Run @{ machine = @{}; facts = @{} } $false) '2'"
    looks(watched, rf"{WATCHED}; . '{FOLDER}\epoch.ps1'; {fails}", *["$null = 0"] * 4, look=asked)
    assert log(watched).count("epoch 2: kubelet does not stop") == 3
    assert log(watched).count("3 repairs (epoch 2) within 3600 s did not help, the next one waits") == 1
    assert starts(watched) == 3
    assert not watched.path(FOLLOWED).exists()


def test_a_restart_of_hns_is_seen_although_kube_proxy_was_restarted_for_an_epoch_after_it(watched: Machine) -> None:
    looks(watched, f"{WATCHED}; {KUBE_PROXY}")
    process = memory(watched)["hns_process"]
    follows = f". '{FOLDER}\\epoch.ps1'; Invoke-NewEpoch (New-Run @{{ machine = @{{}}; facts = @{{}} }} $false) '2'"
    code, said = watched.pwsh(f"{LOADED}; {BOOT}; {HNS_RESTARTS}; {follows}; $global:LASTEXITCODE = 0")
    assert code == 0, said
    assert "programs that watch it were restarted" in log(watched)
    assert memory(watched)["hns_process"] == process
    looks(watched, "$null = 0", look=LOOK_AT_NETWORK)
    assert log(watched).count("HNS was restarted") == 1
