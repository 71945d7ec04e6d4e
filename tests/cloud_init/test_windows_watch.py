"""collect-logs.ps1 -Requested on a node whose plan is done: it watches the pod network and restarts services."""

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import place, until
from tests.conformance import windows_hns
from tests.conformance.windows_programs import SERVICE

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
SERVICES = ("hns", "flanneld", "kube-proxy")
STATE = r"C:\ProgramData\mullion"
SUBNET_FILE = r"C:\run\flannel\subnet.env"
ROUTE = "169.254.169.254/32"
LEASES = r"C:\cni\flannel.4096"
KUBECTL, CRICTL, CRICTL_CALLS = r"C:\k\kubectl.cmd", r"C:\k\crictl.cmd", r"C:\k\crictl.txt"
NETWORK = {"type": "Overlay", "subnet": "10.244.3.0/24", "gateway": "10.244.3.1", "vni": 4096}
STEPS: list[dict[str, Any]] = [
    {
        "kind": "overlay-network", "name": "overlay-network", "network": "flannel.4096",
        "subnet": {"ref": "node.pod_subnet"}, "pods": "10.244.0.0/16", "subnet_file": SUBNET_FILE,
        "service": "flanneld", "address": {"ref": "node.address"},
    },
    {"kind": "metadata-route", "name": "metadata-route", "addresses": ["169.254.169.254"]},
    {"kind": "stale-network", "name": "last-boot", "network": "flannel.4096", "data_directory": "/cni", "services": []},
    {"kind": "pod-range", "name": "pod-range", "node": "web-0", "kubeconfig": "node.conf", "kubectl": KUBECTL},
]  # fmt: skip
DEPENDS = {"kube-proxy": " depend= flanneld"}
"""Dependencies that components/node/proxy.py plans."""
MADE = "; ".join(
    [
        rf"sc.exe create {each} binPath= C:\k\{each}.exe start= demand{DEPENDS.get(each, '')} | Out-Null"
        for each in SERVICES
    ]
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


def network(machine: Machine, *, exists: bool, routed: Sequence[str] = ("10.244.0.0/24",)) -> None:
    """Create flannel's network in HNS, with routes to other nodes' pods (range, router's MAC), or remove it."""
    assert machine.hns
    windows_hns.arrange(machine.hns, {"networks": {"flannel.4096": NETWORK if exists else None}}, {})
    if not exists:
        return
    made = machine.hns.named("Network", "flannel.4096")
    for each in routed:
        prefix, _, router = each.partition(" ")
        route = {"DestinationPrefix": prefix, "IsolationId": 4096, "ProviderAddress": "10.20.1.9"}
        route["DistributedRouterMacAddress"] = router or "0e:2a:00:00:00:01"
        made["Policies"].append({"Type": "RemoteSubnetRoute", "Settings": route})
    machine.hns.changed()


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


def endpoints(machine: Machine, addresses: dict[str, str]) -> None:
    """Create endpoints of these names and addresses; HNS itself refuses an address twice, but has lost count of it."""
    assert machine.hns
    place = machine.hns.named("Network", "flannel.4096")
    for name, address in addresses.items():
        document = {"Name": name, "HostComputeNetwork": place["ID"], "Policies": [], "MacAddress": "00-15-5D-00-00-01"}
        machine.hns.add("Endpoint", {**document, "IpConfigurations": [{"IpAddress": address}]}, "")
    machine.hns.changed()


def leases(machine: Machine, holders: dict[str, str]) -> None:
    """Write reservations of host-local: address -> holder."""
    machine.path(LEASES).mkdir(parents=True, exist_ok=True)
    for address, holder in holders.items():
        (machine.path(LEASES) / address).write_text(f"{holder}\r\neth0")


def stopped(machine: Machine) -> list[str]:
    """Return the arguments of each call of crictl."""
    place = machine.path(CRICTL_CALLS)
    return [line.strip() for line in place.read_text().splitlines()] if place.exists() else []


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
    machine.path(KUBECTL).write_text("@exit /b 1\r\n")
    machine.path(CRICTL).write_text(f"@echo %* >> {CRICTL_CALLS}\r\n")
    script = machine.path(rf"{FOLDER}\watch-network.ps1")
    script.write_text(script.read_text().replace(r"C:\k\crictl.exe", CRICTL))
    requests = machine.path(rf"{FOLDER}\modules\hns-requests.ps1")
    assert "$HnsSeconds = 120" in requests.read_text()
    requests.write_text(requests.read_text().replace("$HnsSeconds = 120", "$HnsSeconds = 5"))
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
    assert "the next restart waits" in log(node)
    assert len(memory(node)["network_watch"]["restarts"]) == 3


def starts(machine: Machine) -> int:
    """Return how often the executor was started."""
    return sum(each["name"] == "Start-ScheduledTask" for each in machine.asked())


def test_the_executor_is_started_when_hns_hangs_and_when_the_machine_has_lost_its_default_route(node: Machine) -> None:
    hns = node.hns
    assert hns
    looks(node, MADE)
    hns.answers.clear()
    try:
        first, last = looks(node, "$null = 0")
    finally:
        hns.answers.set()
    assert "the pod network: HNS does not answer GET /networks within 5 s" in log(node)
    assert starts(node) == 1
    (books(node) / "away.json").write_text(json.dumps({"made": hns.made, "left": -1}))
    assert looks(node, "$null = 0") == [first, last]
    assert "the pod network: the machine has no default route" in log(node)
    assert starts(node) == 2
    assert first == last, "services of the network run on"


def test_wmi_that_does_not_answer_is_no_restart_of_hns(node: Machine) -> None:
    looks(node, MADE)
    process = memory(node)["network_watch"]["process"]
    (books(node) / "wmi.json").write_text(json.dumps({"error": "Provider load failure"}))
    first, last = looks(node, "$null = 0")
    assert first == last
    assert memory(node)["network_watch"]["process"] == process
    assert "pod network" not in log(node)
    known = memory(node)
    known["network_watch"] |= {"boot": 2, "process": "9 2026-01-01T00:00:00"}
    node.path(rf"{STATE}\state.json").write_text(json.dumps(known))
    looks(node, "$null = 0")
    (books(node) / "wmi.json").unlink()
    looks(node, "$null = 0")
    assert "HNS was restarted" not in log(node), "the process of an earlier boot is none of this boot"
    looks(node, HNS_DIES)
    assert "HNS was restarted" in log(node), "a service that is stopped is a loss"


def test_a_lost_network_restarts_flanneld_first_and_then_kube_proxy_once_the_network_is_back(node: Machine) -> None:
    assert looks(node, MADE)[-1]["kube-proxy"]
    network(node, exists=False)
    threading.Thread(target=lambda: flanneld_makes_the_network(node), daemon=True).start()
    before, after = looks(node, "$null = 0")
    assert before["hns"] == after["hns"]
    assert all(after[each] not in (0, before[each]) for each in ("flanneld", "kube-proxy"))
    assert "the network flannel.4096 is gone or incomplete" in log(node)
    assert "the pod network works again" in log(node)


def answers_after(cloud: FakeCloud, kept: Path) -> None:
    """Let the metadata service answer once the route is set."""
    until(lambda: kept.exists() and ROUTE in kept.read_text(), 100)
    cloud.release()


def test_a_lost_metadata_route_is_set_again_before_the_service_is_asked_and_restarts_nothing(
    node: Machine, cloud: FakeCloud
) -> None:
    # as without the route: no answer; the look must not wait for one first
    cloud.hang("/latest/api/token")
    kept = books(node) / "routes.json"
    threading.Thread(target=lambda: answers_after(cloud, kept), daemon=True).start()
    first, second = looks(node, MADE)
    assert first == second
    assert json.loads(kept.read_text())[ROUTE]["InterfaceIndex"] == 7
    assert cloud.asked, "the store was asked afterwards"
    kept.write_text("{}")
    third, fourth = looks(node, "$null = 0")
    assert first == third == fourth
    assert ROUTE in json.loads(kept.read_text())


def test_a_sandbox_without_its_endpoint_is_stopped_once_at_the_second_look_and_shared_addresses_are_told(
    node: Machine,
) -> None:
    leases(node, {"10.244.3.2": "kube-proxy", "10.244.3.5": "lost", "10.244.3.6": "kept", "10.244.3.7": "kept-too"})
    endpoints(node, {"a": "10.244.3.6", "b": "10.244.3.7", "c": "10.244.3.7"})
    first, *_ = looks(node, MADE)
    assert stopped(node) == []
    assert "several HNS endpoints have one address, drain this node: 10.244.3.7: b, c" in log(node)
    *_, last = looks(node, "$null = 0", "$null = 0")
    assert stopped(node) == ["--timeout 60s stopp lost"]
    assert "no endpoint with the address 10.244.3.5 of sandbox lost" in log(node)
    assert log(node).count("drain this node") == 1
    assert first == last, "services of the network run on"


def test_lost_and_old_routes_to_pods_restart_flanneld_and_kube_proxy_at_the_second_question(node: Machine) -> None:
    two = ["10.244.7.0/24", "10.244.7.0/24 0e:2a:00:00:00:07"]
    network(node, exists=True, routed=["10.244.1.0/24", "10.244.6.0/24", *two])
    backend = '{"VNI":4096,"VtepMAC":"%s"}'
    rows = (
        ("web-0", "10.244.3.0/24", backend % "00:15:5d:aa:bb:cc"),
        ("linux-0", "10.244.1.0/24", backend % "0e:2a:00:00:00:01"),
        ("linux-1", "10.244.2.0/24", backend % "0e:2a:00:00:00:02"),
        ("linux-2", "10.244.6.0/24", backend % "0e:2a:00:00:00:06"),
        ("linux-3", "10.244.7.0/24", backend % "0e:2a:00:00:00:07"),
        ("web-1", "10.244.4.0/24", backend % ""),
        ("web-2", "10.244.5.0/24", "<none>"),
    )
    said = "".join(f"@echo {'   '.join(row)}\r\n".replace("<", "^<").replace(">", "^>") for row in rows)
    node.path(KUBECTL).write_text(said)
    rounds = looks(node, MADE, *["$null = 0"] * 5)
    assert all(each == rounds[0] for each in rounds[:-1]), "other looks do not ask the API"
    assert rounds[-1]["hns"] == rounds[0]["hns"]
    for each in ("flanneld", "kube-proxy"):
        assert rounds[-1][each] not in (0, rounds[0][each]), f"{each}, which Windows stops with flanneld, runs again"
    lost = "10.244.2.0/24, 10.244.6.0/24, 10.244.7.0/24"
    assert f"the network flannel.4096 has no route to pods of {lost}, or an old one: " in log(node)


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
