"""collect-logs.ps1 under PowerShell for Windows: what a machine collects on request and what it leaves out."""

import base64
import json

import pytest

from sandbox.boot.windows.winpwsh import FOLDER, MULLION, Machine
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.test_linux_logs import unpacked
from tests.cloud_init.windows import place
from tests.conformance import windows_hns

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]
TOKEN = "abcdef.0123456789abcdef"
NAME = f"AROAEXAMPLE:{INSTANCE}.json"
PLANTED = {
    r"C:\ProgramData\mullion\result.json": json.dumps({"state": "failed", "message": f"join with {TOKEN}"}),
    r"C:\var\log\kubelet\kubelet.log": f"kubelet: got word-of-mouth {TOKEN}\n",
    r"C:\var\log\containerd\containerd.log": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n",
    r"C:\ProgramData\containerd\root\panic.log": "panic\n",
    r"C:\k\bootstrap-kubelet.conf": TOKEN,
    r"C:\k\kubelet.json": "{}",
    r"C:\run\flannel\subnet.env": "FLANNEL_SUBNET=10.244.3.1/24\n",
    r"C:\var\lib\cni\networks\flannel.4096\10.244.3.2": "kube-proxy\r\nsource-vip",
}


@pytest.fixture
def asked(machine: Machine, cloud: FakeCloud) -> Machine:
    """Return a machine whose files contain a token, a key and the cluster's join secret."""
    place(machine, cloud, [])
    assert machine.hns
    overlay = {"type": "Overlay", "subnet": "10.244.3.0/24", "gateway": "10.244.3.1", "vni": 4096}
    windows_hns.arrange(machine.hns, {"networks": {"flannel.4096": overlay}}, {})
    store = f"{cloud.url}/bundles"
    told = json.loads(machine.path(rf"{MULLION}\machine.json").read_text())
    told["facts"] |= {"bundle_store": store, "status_url": f"{store}/status/AROAEXAMPLE%3A"}
    machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))
    for path, text in PLANTED.items():
        file = machine.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    cloud.secrets["join"] = "word-of-mouth"
    return machine


def collect(machine: Machine, *runs: str) -> None:
    """Run the script with each of these arguments, one after the other."""
    code, said = machine.pwsh("; ".join(rf"& '{FOLDER}\collect-logs.ps1' {words}" for words in runs))
    assert code == 0, said


def test_ops_02_a_request_gets_an_archive_of_all_sources_without_a_planted_secret(
    asked: Machine, cloud: FakeCloud
) -> None:
    """OPS-02: one answer to each request, also without a kubelet and a runtime."""
    collect(asked, r"-Output C:\logs.zip", "-Requested")
    assert f"/bundles/logs/{NAME}" not in cloud.objects, "nobody asked"
    files = unpacked(asked.path(r"C:\logs.zip").read_bytes())
    assert {"mullion/result.json", "mullion/machine.json", "plan/plan.json", "kubelet/kubelet.log",
            "kubelet/kubelet.json", "runtime/containerd.log", "runtime/panic.log", "flanneld/subnet.env",
            "cni/flannel.4096/10.244.3.2", "system/routes.txt", "system/addresses.txt", "system/services.txt",
            "hns/networks.txt", "hns/endpoints.txt", "hns/policies.txt", "events/services.txt",
            "events/application.txt", "versions/windows.txt", "versions/kubelet.txt"} <= set(files)  # fmt: skip
    whole = "\n".join(files.values())
    for secret in (TOKEN, "MIIE", "word-of-mouth"):
        assert secret not in whole
    assert files["kubelet/kubelet.log"] == "kubelet: got [secret] [secret]\n"
    assert not [name for name in files if "bootstrap" in name]
    assert "CurrentBuildNumber: 17763" in files["versions/windows.txt"]
    assert "flannel.4096" in files["hns/networks.txt"]
    assert files["versions/kubelet.txt"].startswith("not collected: ")

    cloud.objects[f"/bundles/requests/{NAME}"] = json.dumps({"id": "first"}).encode()
    collect(asked, "-Requested", "-Requested")
    answer = json.loads(cloud.objects[f"/bundles/logs/{NAME}"])
    assert answer["id"] == "first"
    assert set(unpacked(base64.b64decode(answer["archive"]))) >= set(files)
    assert len([each for each in cloud.asked if each.startswith("PUT /bundles/logs/")]) == 1, "it was answered"
    assert not [each for each in cloud.refused() if "/requests/" not in each]


def test_a_network_watch_that_fails_does_not_keep_the_task_from_a_request(asked: Machine, cloud: FakeCloud) -> None:
    asked.path(r"C:\ProgramData\mullion\state.json").mkdir()
    cloud.objects[f"/bundles/requests/{NAME}"] = json.dumps({"id": "second"}).encode()
    collect(asked, "-Requested")
    assert json.loads(cloud.objects[f"/bundles/logs/{NAME}"])["id"] == "second"
    assert "mullion: Invoke-NetworkWatch $run: " in asked.path(r"C:\ProgramData\mullion\node.log").read_text()
