"""All control planes are lost and restored from a snapshot by `mullion restore`, on real machines."""

import base64
import gzip
import json
import uuid
from collections.abc import Callable

import pytest

from components import releases
from components.node.role import CONTROL_PLANE_LABEL
from operations.commands import snapshot
from sandbox.aws.s3 import BUCKET
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import all_ready, etcdctl, nodes
from tests.lab.cluster.running import boot, renewed

pytestmark = [pytest.mark.lab, pytest.mark.engine]

READY_SECONDS = 400
STACK = "aws-dev"
OLD, NEW = 8081, 8082
"""Ports of a Service: in the snapshot, and after it."""
WATCHED = "/var/tmp/watchers"
"""Programs on the surviving node that watch the cluster."""

Cluster = Callable[[str, str], BootedCluster]


def on(head: Machine, *words: str) -> str:
    """Return kubectl's output in the test's own namespace."""
    return head.kubectl(*words, "--namespace", "drill")


def rules(worker: Machine) -> str:
    """Return kube-proxy's rules for Services on a node."""
    return worker.run("iptables-save").stdout


def shows(worker: Machine, port: int) -> bool:
    """Return whether the node's rules have this port of the Service, and no other."""
    lines = [line for line in rules(worker).splitlines() if "drill/web" in line]
    return bool(lines) and all(f"--dport {port} " in line for line in lines)


def snapshots(booted: BootedCluster) -> list[str]:
    """Return the keys in the snapshot store."""
    return sorted(key for key in booted.cloud_state.objects(bucket(booted, "snapshots")) if key.startswith("etcd/"))


def bucket(booted: BootedCluster, name: str) -> str:
    """Return a bucket of the cluster."""
    return next(each.id for each in booted.cloud_state.resources(BUCKET) if each.name.endswith(f"-{name}"))


def watchers(worker: Machine) -> set[str]:
    """Return the kubelet's process and the containers of kube-proxy and flannel; empty while one of them is missing."""
    asked = ("--quiet", "--state", "Running", "--name", "^(kube-proxy|flannel)$")
    containers = worker.run("/usr/local/bin/crictl", "ps", *asked).stdout.split()
    kubelet = worker.run("systemctl", "show", "--property=MainPID", "--value", "kubelet.service").stdout.strip()
    return {kubelet, *containers} if len(containers) == 2 else set()


def snapshot_now(booted: BootedCluster, head: Machine) -> str:
    """Request a snapshot as `mullion snapshot` does, and return its key once the agent answers."""
    head.kubectl(
        "create", "configmap", snapshot.NAME, "--namespace=kube-system", f"--from-literal=request={uuid.uuid4().hex}"
    )
    answered = ("get", "configmap", snapshot.NAME, "--namespace=kube-system", "--output=jsonpath={.data.answer}")
    answer = json.loads(until(lambda: head.kubectl(*answered), "the agent answers"))
    assert answer["key"] in snapshots(booted), answer
    return answer["key"]


@pytest.fixture(scope="module")
def restored(cluster: Cluster, kubernetes: str) -> BootedCluster:
    """Return the cluster after a snapshot, a change, the loss of all control planes, and the restore."""
    booted = cluster(STACK, kubernetes)
    head, worker = (booted.machine(booted.machine_names(pool)[0]) for pool in ("control-plane", "linux"))
    boot((head, worker), READY_SECONDS)
    head.kubectl("create", "namespace", "drill")
    on(head, "create", "service", "clusterip", "web", f"--tcp={OLD}:80")
    on(head, "create", "secret", "generic", "kept", "--from-literal=word=still readable")
    until(lambda: shows(worker, OLD), "the node has the Service's rules")
    key = snapshot_now(booted, head)

    patch = json.dumps([{"op": "replace", "path": "/spec/ports/0/port", "value": NEW}])
    on(head, "patch", "service", "web", "--type=json", f"--patch={patch}")
    on(head, "create", "configmap", "later", "--from-literal=a=b")
    until(lambda: shows(worker, NEW), "the node has the changed port")
    before = until(lambda: watchers(worker), "kube-proxy and flannel run")
    worker.file(WATCHED).write_text(json.dumps(sorted(before)))

    head.cut()
    (new,) = renewed(booted, "restore", STACK, "--sandbox", "--confirm", STACK, "--snapshot", key)
    assert new.record.id != head.record.id
    new.until("ready", READY_SECONDS)
    return booted


def test_a_change_after_the_snapshot_is_undone_on_a_surviving_node(restored: BootedCluster) -> None:
    worker = restored.machine(restored.machine_names("linux")[0])
    until(lambda: shows(worker, OLD), f"the Service is back at {OLD} on {worker.name}")
    head = restored.machine(restored.machine_names("control-plane")[0])
    objects = until(lambda: on(head, "get", "configmaps,secrets", "--output", "name").split(), "the API answers")
    assert "secret/kept" in objects
    assert "configmap/later" not in objects


def test_secrets_stay_readable_and_encrypted(restored: BootedCluster) -> None:
    head = restored.machine(restored.machine_names("control-plane")[0])
    data = until(lambda: on(head, "get", "secret", "kept", "--output", "jsonpath={.data.word}"), "the API answers")
    assert base64.b64decode(data).decode() == "still readable"


def test_both_nodes_are_ready_and_the_control_planes_is_the_new_machine(restored: BootedCluster) -> None:
    head = restored.machine(restored.machine_names("control-plane")[0])
    provider_id = f"aws:///{head.record.outputs['availabilityZone']}/{head.record.id}"

    def whole() -> bool:
        """The snapshot's Node of the lost machine may still be Ready."""
        objects = all_ready(head, len(restored.machines)) or {}
        return objects.keys() == {*restored.machines} and objects[head.name]["spec"]["providerID"] == provider_id

    until(whole, "both nodes are Ready, the new machine's among them")
    assert CONTROL_PLANE_LABEL in nodes(head)[head.name]["metadata"]["labels"], "kubeadm also marked the new Node"


def test_etcd_has_one_member_and_its_revisions_are_bumped_if_it_can_do_that(
    restored: BootedCluster, kubernetes: str
) -> None:
    head = restored.machine(restored.machine_names("control-plane")[0])
    (status,) = etcdctl(head, "endpoint", "status")
    jumps = "--bump-revision" in releases.release(kubernetes).etcd_restore
    assert (status["Status"]["header"]["revision"] > 10**9) == jumps
    assert len(etcdctl(head, "member", "list")["members"]) == 1


def test_programs_that_watch_the_cluster_restart_once_on_a_surviving_node(restored: BootedCluster) -> None:
    worker, store = restored.machine(restored.machine_names("linux")[0]), bucket(restored, "bundles")
    # restored, claimed, founded: after the two records of the first founding
    until(
        lambda: json.loads(restored.cloud_state.objects(store)["epoch.json"].content) == {"epoch": 4},
        "epoch 4 is published",
    )
    before = set(json.loads(worker.file(WATCHED).read_text()))

    def followed() -> bool:
        """The node checks every two minutes, so it may have done it already, or be doing it."""
        worker.run("systemctl", "start", "mullion-collect-logs.service", seconds=300)
        return worker.file("/var/lib/mullion/epoch").read_text() == "4"

    until(followed, "the node followed the epoch")

    def renewed_all() -> set[str]:
        running = watchers(worker)
        return set() if before & running else running

    now = until(renewed_all, "kubelet, kube-proxy and flannel run as new processes")
    worker.run("systemctl", "start", "mullion-collect-logs.service", seconds=300)
    assert watchers(worker) == now, "the programs restarted only once"


def test_the_founding_log_is_signed_and_its_last_founding_published(restored: BootedCluster) -> None:
    objects = restored.cloud_state.objects(bucket(restored, "snapshots"))
    records = [json.loads(objects[f"founding/{epoch}"].content) for epoch in range(5)]
    assert [each["state"] for each in records] == ["claimed", "founded", "restore", "claimed", "founded"]
    assert all(each["mac"] for each in records)

    def published() -> bool:
        held = restored.cloud_state.objects(bucket(restored, "bundles"))
        return "founded.json" in held and json.loads(held["founded.json"].content)["epoch"] == 4

    until(published, "the agent publishes the last founding")


def test_audit_logs_of_both_control_planes_are_in_the_store(restored: BootedCluster) -> None:
    """Also those of the lost control plane, whose agent copied them before the loss."""

    def instances() -> set[str]:
        objects = restored.cloud_state.objects(bucket(restored, "snapshots"))
        held = {key: each.content for key, each in objects.items() if key.startswith("audit/")}
        lines = [line for content in held.values() for line in gzip.decompress(content).splitlines()]
        assert all(json.loads(line)["kind"] == "Event" for line in lines)
        return {key.rpartition("-i-")[2].partition("-")[0] for key in held}

    until(lambda: len(instances()) == 2, "both machines' logs are there")
