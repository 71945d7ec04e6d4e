"""aws-dev's Linux machines, booted with their own user-data: a real cluster whose nodes are as planned."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from components.spec.quantities import memory_bytes
from lab.linuxnode import network
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from sandbox.boot.windows import hosts
from sandbox.boot.windows.server import CURRENT, PKI
from tests.awaited import until
from tests.cis import FILES
from tests.lab.cluster.asking import all_ready, condition, nodes, web
from tests.lab.cluster.running import boot

pytestmark = [pytest.mark.lab, pytest.mark.engine]

READY_SECONDS = 400
"""Time limit, far above the usual time: the two cores may be busy."""

RESULT = "/var/lib/mullion/result.json"
"""The executor's result file."""

Cluster = Callable[[str, str], BootedCluster]


@pytest.fixture(scope="module")
def dev(cluster: Cluster, kubernetes: str) -> BootedCluster:
    """Return the cluster once each of its Linux machines is ready."""
    booted = cluster("aws-dev", kubernetes)
    machines = [booted.machine(name) for pool in ("control-plane", "linux") for name in booted.machine_names(pool)]
    boot(machines, READY_SECONDS)
    return booted


@pytest.fixture(scope="module")
def head(dev: BootedCluster) -> Machine:
    """Return its control plane."""
    return dev.machine(dev.machine_names("control-plane")[0])


def test_every_machine_booted_with_exactly_the_user_data_that_the_program_gave_the_cloud(dev: BootedCluster) -> None:
    for machine in dev.machines.values():
        user_data = machine.record.inputs["userData"].encode()
        assert machine.user_data() == user_data
        assert machine.file("/var/lib/cloud/seed/nocloud/user-data").read_bytes() == user_data
        assert machine.status()["bundle"] == dev.document(machine.record)["bundle"]["sha256"]


def test_every_node_is_ready_and_as_planned(dev: BootedCluster, head: Machine, kubernetes: str) -> None:
    objects = until(lambda: all_ready(head, 2), "both nodes are Ready")
    for name, machine in dev.machines.items():
        node, plan = objects[name], dev.document(machine.record)["machine"]
        addresses = {one["type"]: one["address"] for one in node["status"]["addresses"]}
        assert (addresses["InternalIP"], addresses["Hostname"]) == (plan["address"], name)
        assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{kubernetes}"
        assert node["metadata"]["labels"]["mullion.dev/pool"] == plan["pool"]
        zone = machine.record.outputs["availabilityZone"]
        assert node["spec"]["providerID"] == f"aws:///{zone}/{machine.record.id}"
        assert node["spec"]["podCIDR"].endswith(".0/24"), "IPP-02"
    # the controller removes a Node's not-ready taints a moment after it is Ready
    planned = {("node-role.kubernetes.io/control-plane", "NoSchedule")}
    until(lambda: _taints(nodes(head)[head.name]) == planned, "the control plane has only its own taint")


def test_files_have_the_modes_and_owners_of_the_cis_benchmark(dev: BootedCluster, head: Machine) -> None:
    for machine in dev.machines.values():
        for files in FILES:
            if machine is not head and not files.workers:
                continue
            found = machine.run("sh", "-c", f"stat --format='%a %U:%G %n' {files.paths}")
            assert not found.returncode, (machine.name, files, found.stderr)
            for line in found.stdout.splitlines():
                mode, owner, name = line.split(" ", 2)
                assert int(mode, 8) & ~files.most == 0, (machine.name, files.checks, name, mode)
                assert owner == "root:root", (machine.name, files.checks, name, owner)


def _taints(node: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["key"], one["effect"]) for one in node["spec"].get("taints", [])}


@pytest.fixture(scope="module")
def windows_node(dev: BootedCluster, missing: Callable[[str, str], NoReturn]) -> Machine:
    """Return its Windows worker, registered."""
    name = dev.machine_names("web")[0]
    if why := hosts.why_not(name):
        missing("winpwsh", why)
    machine = dev.machine(name)
    machine.boot()
    machine.until("registered", READY_SECONDS)
    return machine


def test_add_ons_are_applied_and_run(head: Machine) -> None:
    for kind, namespace in (
        ("daemonset/flannel", "kube-flannel"),
        ("daemonset/kube-proxy", "kube-system"),
        ("deployment/coredns", "kube-system"),
    ):
        head.kubectl("rollout", "status", kind, "--namespace", namespace, "--timeout=300s", seconds=310)
    applied = json.loads(head.file("/etc/mullion/addons/flannel.json").read_text())["items"]
    (settings,) = (each for each in applied if each["kind"] == "ConfigMap")
    config = json.loads(head.kubectl("get", "configmap/flannel", "--namespace", "kube-flannel", "--output", "json"))
    assert config["data"] == settings["data"]


def test_a_service_is_reached_by_name_across_nodes_and_metadata_is_closed_to_pods(
    dev: BootedCluster, head: Machine
) -> None:
    worker = dev.machine_names("linux")[0]
    with web(head, on=worker, asking_from=head.name) as ask:
        # the pod's node gets the Service's rules a moment after the pod is ready, the other node later
        until(lambda: ask("http://web.lab.svc.cluster.local:8080/hello") == "hello\n", "the Service answers")
        assert "timed out" in ask("http://169.254.169.254/latest/"), "the metadata service is closed to pods"
    asked = ("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "30")
    answer = dev.machine(worker).run(*asked, "http://169.254.169.254/latest/meta-data/")
    assert answer.stdout == "401", "the metadata service answers a node, which needs a token"


@pytest.mark.soak
def test_the_windows_worker_booted_with_its_user_data_and_its_node_is_as_planned(
    dev: BootedCluster, head: Machine, windows_node: Machine, kubernetes: str
) -> None:
    """SCH-02, SRV-12, RES-06: taints, labels, build, address, providerID, pod range, allocatable."""
    assert windows_node.user_data() == windows_node.record.inputs["userData"].encode()
    document, node = dev.document(windows_node.record), nodes(head)[windows_node.name]
    assert (windows_node.status()["state"], windows_node.status()["bundle"]) == (
        "registered",
        document["bundle"]["sha256"],
    )
    labels, zone = node["metadata"]["labels"], windows_node.record.outputs["availabilityZone"]
    wanted = {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348", "team": "web"}
    assert {name: labels.get(name) for name in wanted} == wanted
    assert labels["mullion.dev/pool"] == document["machine"]["pool"]
    assert ("os", "windows", "NoSchedule") in {(e["key"], e.get("value"), e["effect"]) for e in node["spec"]["taints"]}
    assert node["spec"]["providerID"] == f"aws:///{zone}/{windows_node.record.id}"
    assert node["spec"]["podCIDR"].endswith(".0/24")
    addresses = {one["type"]: one["address"] for one in node["status"]["addresses"]}
    assert (addresses["InternalIP"], addresses["Hostname"]) == (document["machine"]["address"], windows_node.name)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{kubernetes}"
    capacity, allocatable = (memory_bytes(node["status"][each]["memory"]) for each in ("capacity", "allocatable"))
    assert capacity - allocatable >= memory_bytes("2Gi"), "resources of Windows itself are reserved (RES-01)"
    assert condition(node, "Ready") == "False", "no container runs on the node"


@pytest.mark.soak
def test_cp_06_the_windows_worker_has_one_certificate_by_a_request_that_the_agent_approved(
    head: Machine, windows_node: Machine
) -> None:
    requests = json.loads(head.kubectl("get", "certificatesigningrequests", "--output", "json"))["items"]
    mine = [each for each in requests if each["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"]
    approved = [
        each["spec"]["username"] for each in mine for one in each["status"]["conditions"] if one["type"] == "Approved"
    ]
    assert any(name.startswith("system:bootstrap:") for name in approved)
    assert b"PRIVATE KEY" in windows_node.read(rf"{PKI}\{CURRENT}"), "the kubelet keeps its certificate"


@pytest.mark.soak
def test_a_windows_worker_that_loses_power_keeps_its_node(head: Machine, windows_node: Machine) -> None:
    before, time, certificate = (
        nodes(head)[windows_node.name],
        windows_node.status()["time"],
        windows_node.read(rf"{PKI}\{CURRENT}"),
    )
    windows_node.cut()
    windows_node.boot()
    until(
        lambda: windows_node.status()["time"] != time and windows_node.status()["state"] == "registered",
        "registered again",
        log=windows_node.log,
    )
    assert nodes(head)[windows_node.name]["metadata"]["uid"] == before["metadata"]["uid"]
    assert windows_node.read(rf"{PKI}\{CURRENT}") == certificate


@pytest.mark.soak
def test_a_windows_worker_that_boots_without_its_cable_registers_once_it_is_plugged_in(
    dev: BootedCluster, windows_node: Machine
) -> None:
    instance, time = dev.cloud_services.machines.instance(windows_node.record), windows_node.status()["time"]
    windows_node.cut()
    network.connect(dev.net, instance, connected=False)
    try:
        windows_node.boot()
    finally:
        network.connect(dev.net, instance, connected=True)
    until(
        lambda: windows_node.status()["time"] != time and windows_node.status()["state"] == "registered",
        "registered again",
        log=windows_node.log,
    )


def test_a_control_plane_that_loses_power_comes_back_by_itself(dev: BootedCluster, head: Machine) -> None:
    head.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    head.cut()
    # by now all writes are done
    before, recorded = json.loads(head.file(RESULT).read_text())["started"], head.status()["time"]
    head.boot()

    def came_true_again() -> bool:
        result = json.loads(head.file(RESULT).read_text())
        return result["started"] != before and (result["state"], result["code"]) == ("done", 0)

    until(came_true_again, "its plan is done again")
    until(lambda: head.status()["time"] != recorded and head.status()["state"] == "ready", "its record says ready")
    # a moment after its start the API server does not know its roles yet
    value = until(
        lambda: head.kubectl("get", "configmap", "kept", "--output", "jsonpath={.data.a}"), "the API allows the request"
    )
    assert value == "b"
