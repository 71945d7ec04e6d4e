"""Spot machines on Windows: the notice of each cloud, and the drain after it, under real PowerShell for Windows."""

import time

import pytest

from sandbox import interruptions
from sandbox.boot.windows.winpwsh import FOLDER, Machine
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud
from tests.cloud_init.windows import NAME, place

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

KUBECTL, CALLS = r"C:\k\kubectl.cmd", r"C:\k\calls.txt"
REFUSES_ONCE = (
    f"@echo off\r\nif exist {CALLS} goto good\r\necho %* >> {CALLS}\r\nexit /b 1\r\n:good\r\necho %* >> {CALLS}\r\n"
)
"""A kubectl that refuses the first time, as the API refuses a node that reads a pod that is gone."""
ASKS = (
    rf"& {{ . '{FOLDER}\loader.ps1' -Functions; . '{FOLDER}\load-modules.ps1';"
    r' $Site.Facts = (New-Run (Read-Json "$Mullion\machine.json") $false).Told.facts;'
    " & $Clouds[$Site.Facts.cloud].Interrupted }"
)


@EACH_CLOUD
def test_a_machine_drains_its_node_once_its_cloud_takes_it_back(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, [])
    for folder in (r"C:\k", r"C:\ProgramData\mullion"):
        machine.path(folder).mkdir(parents=True, exist_ok=True)
    machine.path(KUBECTL).write_text(REFUSES_ONCE, newline="")
    code, said = machine.pwsh(ASKS)
    assert (code, said.strip()) == (0, "False")
    state = cloud.objects.cloud_state
    [itself] = [each for each in state.resources() if each.id == cloud.account.machine]
    interruptions.announce(state, itself, time.time() + 30)
    words = rf"-Seconds 60 -Grace 20 -Kubectl '{KUBECTL}' -Kubeconfig 'C:\k\node.conf'"
    code, said = machine.pwsh(rf"& '{FOLDER}\watch-interruption.ps1' {words}")
    assert code == 0, said
    calls = machine.path(CALLS).read_text().splitlines()
    assert len(calls) == 2 and all(f"drain {NAME} " in each for each in calls), calls
    assert "--pod-selector=!pod-template-generation --force --delete-emptydir-data --grace-period=20" in calls[1]
    log = machine.path(r"C:\ProgramData\mullion\node.log").read_text()
    assert log.index("takes this machine back") < log.index("the drain failed") < log.index("the node is drained")
