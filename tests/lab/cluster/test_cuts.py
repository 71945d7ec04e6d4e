"""Three control planes and a worker with repeated power cuts during their set-up: the planned cluster is the result."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from components.node.control_plane import DONE, FOUNDED, FOUNDER, LOG, MEMBER
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import all_ready, etcdctl

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

READY_SECONDS = 600
POINT_SECONDS = 600
ETC = "/etc/kubernetes"

FOUNDING = (
    f"{ETC}/pki/sa.pub",
    FOUNDER,
    f"{ETC}/pki/apiserver.crt",
    f"{ETC}/manifests/etcd.yaml",
    "/var/lib/etcd/member",
    DONE,
    FOUNDED,
    "/etc/mullion/addons/flannel.json",
)
"""Files of the founder: its power is cut as soon as one exists."""
JOINING = (MEMBER, f"{ETC}/pki/apiserver.crt", f"{ETC}/manifests/etcd.yaml", "/var/lib/etcd/member", DONE)
WORKING = (
    *("/opt/mullion/current", "/usr/local/bin/kubeadm", "/etc/containerd/config.toml"),
    *(f"{ETC}/bootstrap-kubelet.conf", f"{ETC}/kubelet.conf", DONE),
)
TORN = (f"{ETC}/pki/apiserver.crt", f"{ETC}/admin.conf", f"{ETC}/manifests/etcd.yaml", "/var/lib/kubelet/config.yaml")
"""Files that a real power cut can leave empty, because kubeadm does not sync the disk. Emptied if kubeadm was not
done."""

Cluster = Callable[[str, str], BootedCluster]


def there(machine: Machine, path: str) -> bool:
    """Return whether the machine has the file; containers' and kubelets' files are on separate disks."""
    head, _, rest = path.removeprefix("/var/lib/").partition("/")
    own = machine.folder / "var" / head / rest
    return own.exists() if path.startswith("/var/lib/") and own.parent.is_dir() else os.path.lexists(machine.file(path))


def cut_at(machine: Machine, path: str) -> None:
    """Run the machine until it has the file, then cut its power; empty the files that kubeadm was writing."""
    end = time.monotonic() + POINT_SECONDS
    while not there(machine, path):
        assert time.monotonic() < end, f"{machine.name} has no {path}: {machine.status()} {machine.console()[-3000:]}"
        time.sleep(0.02)
    machine.cut()
    if there(machine, DONE + ".begun") and not there(machine, DONE):
        for each in TORN:
            if there(machine, each) and machine.file(each).is_file():
                machine.file(each).write_bytes(b"")


def cut_through(machine: Machine, points: tuple[str, ...]) -> None:
    """Boot it and cut it at every point, then let it run."""
    for each in points:
        machine.boot()
        cut_at(machine, each)
    machine.boot()


def records(booted: BootedCluster) -> list[dict[str, Any]]:
    """Return the founding records in the snapshot store."""
    (bucket,) = {
        booted.document(machine.record)["facts"]["snapshot_store"].split("//")[1].split(".")[0]
        for machine in booted.machines.values()
        if "snapshot_store" in booted.document(machine.record)["facts"]
    }
    held = booted.cloud_state.objects(bucket)
    return [json.loads(held[key].content) for key in sorted(held) if key.startswith(f"{LOG}/")]


@pytest.fixture(scope="module")
def cut(cluster: Cluster, kubernetes: str) -> BootedCluster:
    """Return the cluster once all its machines are ready after the cuts."""
    booted = cluster("three", kubernetes)
    founder, *others = [booted.machine(name) for name in booted.machine_names("control-plane")]
    worker = booted.machine(booted.machine_names("linux")[0])
    cut_through(founder, FOUNDING)
    founder.until("ready", READY_SECONDS)
    ways = [(others[0], JOINING), (others[1], ()), (worker, WORKING)]
    with ThreadPoolExecutor(len(ways)) as at_once:
        list(at_once.map(lambda way: cut_through(*way), ways))
    for each in booted.machines.values():
        each.until("ready", READY_SECONDS)
    return booted


def test_the_cluster_is_founded_once_by_the_machine_that_claimed_it(cut: BootedCluster) -> None:
    founding = records(cut)
    assert [each["state"] for each in founding] == ["claimed", "founded"]
    assert len({each["owner"] for each in founding}) == 1


def test_every_machine_is_a_ready_node(cut: BootedCluster) -> None:
    head = cut.machine(cut.machine_names("control-plane")[0])
    objects = until(lambda: all_ready(head, len(cut.machines)), "every node is Ready")
    assert sorted(objects) == sorted(cut.machines)


def test_etcd_has_exactly_three_voting_members(cut: BootedCluster) -> None:
    head = cut.machine(cut.machine_names("control-plane")[0])
    members = etcdctl(head, "member", "list")["members"]
    assert sorted(each["name"] for each in members) == cut.machine_names("control-plane")
    assert not [each for each in members if each.get("isLearner")]


def test_the_api_server_accepts_the_manifests_of_add_ons_strictly(cut: BootedCluster) -> None:
    head = cut.machine(cut.machine_names("control-plane")[0])
    for manifest in sorted(head.file("/etc/mullion/addons").glob("*.json")):
        applied = head.kubectl(
            "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=true",
            "--filename", f"/etc/mullion/addons/{manifest.name}",
        )  # fmt: skip
        assert applied.count("serverside-applied") == len(json.loads(manifest.read_text())["items"]), manifest.name


def test_core_dns_and_kube_proxy_select_linux(cut: BootedCluster) -> None:
    head = cut.machine(cut.machine_names("control-plane")[0])
    for each in ("deployment/coredns", "daemonset/kube-proxy"):
        path = "jsonpath={.spec.template.spec.nodeSelector.kubernetes\\.io/os}"
        assert head.kubectl("get", each, "--namespace", "kube-system", "--output", path) == "linux", "CP-04"


def test_no_machine_has_a_token_or_key_in_a_log_or_a_public_file(cut: BootedCluster) -> None:
    secret = {
        line
        for name, machine in cut.machines.items()
        for path in (machine.folder / "upper/etc/kubernetes/pki").rglob("*.key")
        for line in path.read_text().splitlines()
        if "-----" not in line
    }
    token = next(
        text
        for one in cut.cloud_state.resources()
        if "join" in one.name
        for text in cut.cloud_state.secret_values(one.id).values()
    )
    assert len(secret) > 20
    for machine in cut.machines.values():
        journal = machine.run(
            "journalctl", "--unit=mullion", "--unit=mullion-agent", "--no-pager", "--output=cat"
        ).stdout
        public = [
            path.read_text(errors="replace")
            for folder in ("etc/mullion", "var/lib/mullion", "opt/mullion")
            for path in (machine.folder / "upper" / folder).rglob("*")
            if path.is_file() and path.stat().st_mode & 0o044
        ]
        for text in (journal, machine.console(), *public):
            assert token.rpartition(".")[2] not in text, machine.name
            assert not [line for line in secret if line in text], machine.name
