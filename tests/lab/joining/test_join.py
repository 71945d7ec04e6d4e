"""The real kubelet.exe joins a real API server, as the service that the executor created."""

import json
import re
from typing import Any

import pytest

from components.spec.quantities import cpu_milli, memory_bytes
from sandbox.boot.windows.server import CURRENT, PKI
from tests.lab.conftest import Find
from tests.lab.joining.conftest import POOL, SPEC, JoinedWorker

pytestmark = [pytest.mark.lab, pytest.mark.engine]

HNS = r"(?i)hns|hcn|vmcompute|computenetwork"
"""Windows feature that Wine lacks, which kube-proxy needs after it has read its file and the API."""
KUBELET: dict[str, Any] = SPEC["pools"][POOL]["kubelet"]


def test_ops_01_the_whole_plan_succeeded_and_its_record_is_in_the_store(joined: JoinedWorker) -> None:
    record = joined.lab.record(joined.worker.record)
    assert record["state"] == "registered", (record, joined.worker.log()[-3000:])
    assert (record["machine"], record["kubernetes"]) == (joined.worker.name, joined.kubernetes)
    assert joined.worker.restarts() == 1


def test_the_node_is_as_planned(joined: JoinedWorker) -> None:
    """SCH-02, SRV-12, CP-06."""
    node = joined.node
    labels, info = node["metadata"]["labels"], node["status"]["nodeInfo"]
    wanted = {
        "kubernetes.io/os": "windows",
        "kubernetes.io/hostname": joined.worker.name,
        "node.kubernetes.io/windows-build": "10.0.17763",
        "mullion.dev/pool": POOL,
        "team": "billing",
    }
    assert {name: labels.get(name) for name in wanted} == wanted
    plan = joined.lab.told(joined.worker.record)["machine"]
    assert joined.worker.name == plan["name"]
    taints = {f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["spec"]["taints"]}
    assert set(SPEC["pools"][POOL]["taints"]) <= taints
    zone = joined.worker.record.outputs["availabilityZone"]
    assert node["spec"]["providerID"] == f"aws:///{zone}/{joined.worker.record.id}"
    assert info["kubeletVersion"] == f"v{joined.kubernetes}"
    addresses = {each["type"]: each["address"] for each in node["status"]["addresses"]}
    assert addresses["InternalIP"] == plan["address"]


def test_res_06_allocatable_is_capacity_less_reserves_less_eviction(joined: JoinedWorker) -> None:
    capacity, allocatable = joined.node["status"]["capacity"], joined.node["status"]["allocatable"]
    reserved = [KUBELET[each]["memory"] for each in ("system_reserved", "kube_reserved")]
    less = sum(map(memory_bytes, [*reserved, KUBELET["eviction_hard"]["memory.available"]]))
    assert memory_bytes(allocatable["memory"]) == memory_bytes(capacity["memory"]) - less
    assert cpu_milli(allocatable["cpu"]) == cpu_milli(capacity["cpu"]) - 500


def test_it_joined_by_its_token_and_an_approved_request(joined: JoinedWorker) -> None:
    """CP-06: one identity, only by the bootstrap token."""
    requests = joined.plane.call("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests")["items"]
    by_token = [request for request in requests if request["spec"]["username"].startswith("system:bootstrap:")]
    assert by_token
    for request in by_token:
        assert request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
    certificate = joined.worker.path(PKI) / CURRENT
    assert "PRIVATE KEY" in certificate.read_text()


def test_res_03_the_kubelet_set_its_priority_class(joined: JoinedWorker) -> None:
    """The kubelet logs it when it creates its job object, its only way to set it (cmd/kubelet/app/init_windows.go).
    Wine supports priority classes of processes, but not of jobs: it returns 0 for a job's limit, and processes keep
    theirs."""
    log = joined.worker.path(r"C:\var\log\kubelet\kubelet.log").read_text(errors="replace")
    assert re.search(rf'job object.*="?{KUBELET["priority_class"]}', log), log[:3000]


def test_srv_11_host_local_has_reserved_the_address_in_kube_proxys_file(joined: JoinedWorker) -> None:
    config = json.loads(joined.worker.path(r"C:\k\kube-proxy.json").read_text())
    network, vip = config["winkernel"]["networkName"], config["winkernel"]["sourceVip"]
    held = joined.worker.path(rf"C:\var\lib\cni\networks\{network}\{vip}")
    assert held.read_text().split()[0] == "kube-proxy"
    pods = joined.node["spec"]["podCIDR"]
    assert vip.rpartition(".")[0] == pods.partition("/")[0].rpartition(".")[0]


def test_srv_10_the_real_kube_proxy_accepts_its_file(joined: JoinedWorker, program: Find) -> None:
    """It logs no objection before it needs a feature that Wine lacks; some minors then run on until they are ended."""
    place = joined.worker.path(r"C:\lab\kube-proxy.exe")
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(program("kube-proxy", "windows"))
    command = (r"C:\lab\kube-proxy.exe", "--config", r"C:\k\kube-proxy.json", "--v=2")
    log = ""
    for seconds in (15, 60, 240):  # a busy host needs more time
        if re.search(HNS, log := joined.worker.run(*command, seconds=seconds)):
            break
    assert re.search(HNS, log), log[-1500:]
    assert "unknown field" not in log


def test_after_a_power_cut_the_same_node_comes_back_without_a_new_request(joined: JoinedWorker) -> None:
    before, certificate = joined.node, (joined.worker.path(PKI) / CURRENT).read_bytes()
    names = {each.name for each in joined.worker.path(PKI).glob("kubelet-client-*.pem")}
    joined.worker.cut()
    joined.lab.forget(joined.worker.record)
    joined.boot()
    assert joined.lab.record(joined.worker.record)["state"] == "registered"
    assert (joined.worker.path(PKI) / CURRENT).read_bytes() == certificate
    assert {each.name for each in joined.worker.path(PKI).glob("kubelet-client-*.pem")} == names
    after = joined.node
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    beats = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + joined.worker.name
    seen = joined.plane.call("GET", beats)["spec"]["renewTime"]
    joined.plane.until(
        lambda: joined.plane.call("GET", beats)["spec"]["renewTime"] > seen, "the kubelet renews its lease"
    )
