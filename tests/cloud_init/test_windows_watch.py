"""collect-logs.ps1 -Requested on a node whose plan is done: it watches the pod network and restarts services."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import place
from tests.conformance.windows_programs import SERVICE

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
SERVICES = ("hns", "flanneld", "kube-proxy")
STATE = r"C:\ProgramData\mullion"
SUBNET_FILE = r"C:\run\flannel\subnet.env"
ROUTE = "169.254.169.254/32"
NETWORK: dict[str, Any] = {
    "ID": "00000000-0000-0000-0000-000000000001",
    "Name": "flannel.4096",
    "Type": "Overlay",
    "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
}
STEPS: list[dict[str, Any]] = [
    {
        "kind": "overlay-network", "name": "overlay-network", "network": "flannel.4096",
        "subnet": {"ref": "node.pod_subnet"}, "pods": "10.244.0.0/16", "subnet_file": SUBNET_FILE,
        "service": "flanneld", "address": "127.0.0.1",
    },
    {"kind": "metadata-route", "name": "metadata-route", "addresses": ["169.254.169.254"]},
]  # fmt: skip
MADE = "; ".join(
    [rf"sc.exe create {each} binPath= C:\k\{each}.exe start= demand | Out-Null" for each in SERVICES]
    + [f"sc.exe start {each} | Out-Null" for each in SERVICES]
    + ["Register-ScheduledTask -TaskName mullion -Action @{} -Trigger @{} -Principal @{} -Settings @{} | Out-Null"]
)
PREFETCH = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
BOOT = f"[Microsoft.Win32.Registry]::SetValue('{PREFETCH}', 'BootId', 3)"
"""Sets the number of this boot, which Wine does not count."""
LOOK = rf"& '{FOLDER}\collect-logs.ps1' -Requested"
STARTED = "; ".join(
    f"[Console]::Out.WriteLine('{each} ' + [int] (Get-Process {each} -EA Ignore).Id)" for each in SERVICES
)
HNS_DIES = "sc.exe stop hns | Out-Null; while (Get-Process hns -EA Ignore) { Start-Sleep -Milliseconds 50 }"
HNS_RESTARTS = f"{HNS_DIES}; sc.exe start hns | Out-Null"


def books(machine: Machine) -> Path:
    """Return the folder of the stand-ins' state."""
    return machine.path(BOOKS)


def network(machine: Machine, *, exists: bool) -> None:
    """Write flannel's network into the state of HNS, or remove it."""
    (books(machine) / "networks.json").write_text(json.dumps({NETWORK["ID"]: NETWORK} if exists else {}))


def flanneld_makes_the_network(machine: Machine) -> None:
    """Write the network into the state of HNS once its loss is in the log."""
    end = time.monotonic() + 100
    while "is gone" not in log(machine) and time.monotonic() < end:
        time.sleep(0.2)
    network(machine, exists=True)


def memory(machine: Machine) -> dict[str, Any]:
    """Return the executor's memory."""
    return json.loads(machine.path(rf"{STATE}\state.json").read_text())


def log(machine: Machine) -> str:
    """Return node.log."""
    place = machine.path(rf"{STATE}\node.log")
    return place.read_text() if place.exists() else ""


@pytest.fixture
def node(machine: Machine, cloud: FakeCloud) -> Machine:
    """Return a machine whose executor has finished in this boot; its services run once MADE was run."""
    place(machine, cloud, STEPS)
    told = json.loads(machine.path(rf"{MULLION}\machine.json").read_text())
    told["facts"] |= {"bundle_store": f"{cloud.url}/bundles", "status_url": f"{cloud.url}/bundles/status/A%3A"}
    machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))
    for service in SERVICES:
        program = machine.path(rf"C:\k\{service}.exe")
        program.parent.mkdir(exist_ok=True)
        program.write_bytes(machine.path(SERVICE).read_bytes())
    for folder in (STATE, r"C:\run\flannel", BOOKS):
        machine.path(folder).mkdir(parents=True, exist_ok=True)
    lines = ["FLANNEL_NETWORK=10.244.0.0/16", "FLANNEL_SUBNET=10.244.3.1/24", "FLANNEL_MTU=8951"]
    machine.path(SUBNET_FILE).write_text("\n".join([*lines, "FLANNEL_IPMASQ=false", ""]))
    machine.path(rf"{STATE}\result.json").write_text(json.dumps({"state": "done"}))
    machine.path(rf"{STATE}\state.json").write_text(json.dumps({"cleared": {"flannel.4096": 3}}))
    network(machine, exists=True)
    return machine


def looks(machine: Machine, *before: str) -> list[dict[str, int]]:
    """Return the services' process ids before and after each run of the task. before: commands, one before each run."""
    words = [f"{BOOT}; {each}; {STARTED}; {LOOK}; {STARTED}" for each in before]
    code, said = machine.pwsh("; ".join(words) + "; $global:LASTEXITCODE = 0")
    assert code == 0, said
    rows = [line.split() for line in said.splitlines() if line.startswith(SERVICES)]
    ids = [(name, int(number)) for name, number in rows]
    return [dict(ids[start : start + 3]) for start in range(0, len(ids), 3)]


def test_a_restart_of_hns_restarts_flanneld_and_kube_proxy_at_most_three_times_an_hour(node: Machine) -> None:
    rounds = looks(node, MADE, "$null = 0", *[HNS_RESTARTS] * 5)
    assert rounds[0] == rounds[1] == rounds[2] == rounds[3], "nothing happened yet"
    for turn in (2, 3, 4):
        before, after = rounds[2 * turn], rounds[2 * turn + 1]
        assert before["hns"] == after["hns"]
        assert all(after[each] not in (0, before[each]) for each in ("flanneld", "kube-proxy")), f"restart {turn - 1}"
    for turn in (5, 6):
        assert rounds[2 * turn] == rounds[2 * turn + 1], "the fourth restart within an hour waits"
    assert log(node).count("HNS was restarted") == 4, "three restarts, and one line about those that wait"
    assert "the next one waits" in log(node)
    assert len(memory(node)["network_watch"]["restarts"]) == 3


def test_a_lost_network_restarts_flanneld_first_and_then_kube_proxy_once_the_network_is_back(node: Machine) -> None:
    assert looks(node, MADE)[-1]["kube-proxy"]
    network(node, exists=False)
    threading.Thread(target=lambda: flanneld_makes_the_network(node), daemon=True).start()
    before, after = looks(node, "$null = 0")
    assert before["hns"] == after["hns"]
    assert all(after[each] not in (0, before[each]) for each in ("flanneld", "kube-proxy"))
    assert "the network flannel.4096 is gone or incomplete" in log(node)
    assert "the pod network works again" in log(node)


def test_a_lost_metadata_route_is_set_again_and_restarts_nothing(node: Machine) -> None:
    first, second = looks(node, MADE)
    assert first == second
    routes = json.loads((books(node) / "routes.json").read_text())
    assert routes[ROUTE]["InterfaceIndex"] == 7
    (books(node) / "routes.json").write_text("{}")
    third, fourth = looks(node, "$null = 0")
    assert first == third == fourth
    assert ROUTE in json.loads((books(node) / "routes.json").read_text())


@pytest.mark.parametrize(
    ("name", "content"),
    [("result.json", {"state": "failed"}), ("state.json", {"cleared": {"flannel.4096": 7}})],
    ids=["the run failed", "not in this boot"],
)
def test_the_network_is_left_to_the_executor_until_it_has_finished(
    node: Machine, name: str, content: dict[str, Any]
) -> None:
    machine_file = node.path(rf"{STATE}\{name}")
    machine_file.write_text(json.dumps(content))
    network(node, exists=False)
    first, second = looks(node, MADE)
    assert first == second
    assert "network_watch" not in memory(node)
