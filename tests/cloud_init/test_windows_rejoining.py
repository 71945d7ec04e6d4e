"""collect-logs.ps1 -Requested starts the executor once the kubelet's certificate has ended."""

import json

import pytest

from sandbox.boot.windows.winpwsh import FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import place
from tests.conformance.authority import node_pem

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]
CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
STARTED = {"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}}
TASK = "Register-ScheduledTask -TaskName mullion -Action @{} -Trigger @{} -Principal @{} -Settings @{} | Out-Null"


def test_an_ended_certificate_starts_the_executor_and_a_valid_one_does_not(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, [])
    store = f"{cloud.url}/bundles"
    told = json.loads(machine.path(rf"{MULLION}\machine.json").read_text())
    told["machine"]["name"] = "web-0"
    told["facts"] |= {"bundle_store": store, "status_url": f"{store}/status/AROAEXAMPLE%3A"}
    machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))
    file = machine.path(CERTIFICATE)
    file.parent.mkdir(parents=True)
    # the status record says what the machine trusts, nothing, and who signed its kubelet's certificates
    reported = machine.path(r"C:\ProgramData\mullion\reported")
    reported.parent.mkdir(parents=True, exist_ok=True)
    reported.write_text(" mullion test authority,")
    for what, before in (("good", TASK), ("over", "$null = 0")):
        file.write_text(node_pem(what))
        code, said = machine.pwsh(f"{before}; & '{FOLDER}\\collect-logs.ps1' -Requested")
        assert code == 0, said
        assert (STARTED in machine.asked()) is (what == "over"), what
