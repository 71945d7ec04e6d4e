"""A Windows node whose plan is done, and looks of its network watch (collect-logs.ps1 -Requested)."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import place
from tests.conformance import windows_hns
from tests.conformance.windows_programs import SERVICE

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
    {"kind": "node-object", "name": "node-registered", "kubeconfig": "node.conf", "kubectl": KUBECTL},
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
BOOT = r"[Microsoft.Win32.Registry]::SetValue('HKEY_LOCAL_MACHINE\SOFTWARE\mullion-boot', 'Id', 3)"
"""Sets the number of this boot."""
LOADED = (
    rf"Set-StrictMode -Version 2.0; $ErrorActionPreference = 'Stop'; . '{FOLDER}\loader.ps1' -Functions; "
    rf". '{FOLDER}\watch-network.ps1'; . '{FOLDER}\load-modules.ps1'"
)
"""Loads functions as collect-logs.ps1 does."""
LOOK = rf"Invoke-NetworkWatch (New-Run (Read-Json '{MULLION}\machine.json') $false)"
REQUESTED = rf"& '{FOLDER}\collect-logs.ps1' -Requested"
"""The task of every two minutes, which looks first."""
STARTED = "; ".join(
    f"[Console]::Out.WriteLine('{each} ' + [int] (Get-Process {each} -EA Ignore | ForEach-Object Id))"
    for each in SERVICES
)
HNS_DIES = "sc.exe stop hns | Out-Null; while (Get-Process hns -EA Ignore) { Start-Sleep -Milliseconds 50 }"
KUBE_PROXY = rf"Restart-KubeProxy (New-Run (Read-Json '{MULLION}\machine.json') $false)"
"""Starts kube-proxy as the executor and the watch do."""
HNS_RESTARTS = f"{HNS_DIES}; sc.exe start hns | Out-Null"
KUBELET_STARTS = "sc.exe start kubelet | Out-Null"


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
    made["Policies"].append({"Type": "HostRoute", "Settings": {}})
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
    machine.path(rf"{STATE}\state.json").write_text(json.dumps({"cleared": {"flannel.4096": 3}, "finished": 3}))
    network(machine, exists=True)
    machine.path(KUBECTL).write_text("@exit /b 1\r\n")
    machine.path(CRICTL).write_text(f"@echo %* >> {CRICTL_CALLS}\r\n")
    change(machine, "watch-endpoints", r"C:\k\crictl.exe", CRICTL)
    change(machine, r"modules\hns-requests", "$HnsSeconds = 120", "$HnsSeconds = 5")
    change(machine, "watch-losses", "$AgainSeconds = 10", "$AgainSeconds = 0")
    change(machine, r"modules\proxy-progress", "$ProgressSeconds = 60", "$ProgressSeconds = 0.1")
    change(machine, r"modules\proxy-progress", "$ProgressPoll = 5", "$ProgressPoll = 1")
    return machine


def change(machine: Machine, script: str, old: str, new: str) -> None:
    """Replace a constant of a script."""
    path = machine.path(rf"{FOLDER}\{script}.ps1")
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))


def looks(machine: Machine, *before: str, look: str = LOOK) -> list[dict[str, int]]:
    """Return the services' process ids before and after each look. before: commands, one before each look."""
    words = [f"{LOADED}; {BOOT}", *(f"{each}; {STARTED}; {look}; {STARTED}" for each in before)]
    code, said = machine.pwsh("; ".join(words) + "; $global:LASTEXITCODE = 0", 200)
    assert code == 0, said
    rows = [line.split() for line in said.splitlines() if line.startswith(SERVICES)]
    ids = [(name, int(number)) for name, number in rows]
    return [dict(ids[start : start + 3]) for start in range(0, len(ids), 3)]


def starts(machine: Machine) -> int:
    """Return how often the executor was started."""
    return sum(each["name"] == "Start-ScheduledTask" for each in machine.asked())


def flannel_row(name: str, pod_range: str, backend: str) -> str:
    """Return a line of a batch file that prints a Node as kubectl does with the watch's template (%q of Go)."""
    quoted = ['"{}"'.format(each.replace('"', r"\"")) for each in (name, pod_range, backend) if each]
    return f"@echo {' '.join(quoted)}\r\n"
