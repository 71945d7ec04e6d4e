"""`mullion upgrade` over minor versions: three control planes are upgraded one by one, then the worker is replaced."""

import base64
import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from components import releases
from lab import cluster as programs
from lab import images
from operations.console.exits import Exit
from sandbox.aws.s3 import BUCKET
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import agent, all_ready, at_rest, nodes
from tests.lab.cluster.running import boot, renewed

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

STACK = "three"
READY_SECONDS = 600
HOP_SECONDS = 900
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

Cluster = Callable[..., BootedCluster]


@pytest.fixture(scope="module")
def versions(kubernetes: str) -> list[str]:
    """Return the versions from the oldest to the newest."""
    if kubernetes not in programs.BEFORE:
        pytest.skip(f"no upgrade to {kubernetes} is tested, only to {', '.join(programs.BEFORE)}")
    return [*programs.BEFORE[kubernetes], kubernetes]


@pytest.fixture(scope="module")
def booted(cluster: Cluster, versions: list[str]) -> BootedCluster:
    """Return the cluster at the oldest version, all ready; it can download the later ones."""
    booted_cluster = cluster(STACK, *versions)
    machines = [
        booted_cluster.machine(name)
        for pool in ("control-plane", "linux")
        for name in booted_cluster.machine_names(pool)
    ]
    boot(machines, READY_SECONDS)
    return booted_cluster


def heads(booted: BootedCluster) -> list[Machine]:
    """Return the control planes."""
    return [booted.machine(name) for name in booted.machine_names("control-plane")]


def preload(machines: Iterable[Machine], kubernetes: str, archive: Path) -> None:
    """Copy the images of another version to machines, which would pull them from a registry; also kubeadm's test
    Job."""
    images.archive(kubernetes, archive)
    # a new name per version: the machine's kernel caches the content of an older file
    inside = f"/root/images-{kubernetes}.tar"
    for machine in machines:
        place = machine.file(inside)
        place.hardlink_to(archive)
        words = ("--namespace", "k8s.io", "images", "import", inside)
        ran = machine.run("/usr/local/bin/ctr", *words, seconds=300)
        place.unlink()
        assert ran.returncode == 0, ran.stderr
    archive.unlink()


def hopped(booted: BootedCluster, version: str) -> bool:
    """Return whether every control plane reports the version and no turn is held."""
    return all(
        (head.status().get("kubernetes"), head.status().get("state")) == (version, "ready") and at_rest(head)
        for head in heads(booted)
    )


def versions_of(booted: BootedCluster) -> dict[str, tuple[str, str]]:
    """Return the Kubernetes version of each node's kubelet, and its containerd version."""
    infos = {name: each["status"]["nodeInfo"] for name, each in nodes(heads(booted)[0]).items()}
    runtimes = {name: each["containerRuntimeVersion"].partition("://")[2] for name, each in infos.items()}
    # a program built from source has +unknown after its version
    return {
        name: (infos[name]["kubeletVersion"].lstrip("v"), each.partition("+")[0]) for name, each in runtimes.items()
    }


def planned(version: str) -> tuple[str, str]:
    """Return the kubelet and containerd versions planned for this Kubernetes version."""
    return version, releases.release(version).containerd.version


def running(booted: BootedCluster) -> dict[str, set[str]]:
    """Return image tags of kube-system by image name."""
    head = heads(booted)[0]
    pods = json.loads(head.kubectl("get", "pods", "--namespace", "kube-system", "--output", "json"))["items"]
    found: dict[str, set[str]] = {}
    for each in (container["image"] for pod in pods for container in pod["spec"]["containers"]):
        name, _, tag = each.rpartition("/")[2].partition(":")
        found.setdefault(name, set()).add(tag)
    return found


def test_control_planes_are_upgraded_one_minor_at_a_time_and_the_worker_follows(
    booted: BootedCluster, versions: list[str]
) -> None:
    """CP: the cluster's objects stay; kubelets are never newer than the API; a snapshot precedes each upgrade.
    On control planes containerd changes, if the tables say so, while pods run."""
    head, worker = heads(booted)[0], booted.machine_names("linux")[0]
    head.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    head.kubectl("create", "secret", "generic", "kept", "--from-literal=word=readable")
    store = next(bucket.id for bucket in booted.cloud_state.resources(BUCKET) if bucket.name.endswith("-snapshots"))
    for before, after in pairwise(versions):
        preload(booted.machines.values(), after, booted.folder / "images.tar")
        # the command does not know these machines and cannot wait for them: it refuses the second
        # stage, which runs below
        assert renewed(booted, "upgrade", STACK, after, "--sandbox", "--yes", ends=Exit.FAILED) == []
        until(lambda after=after: hopped(booted, after), f"the control plane has {after}", HOP_SECONDS)
        wanted = {**dict.fromkeys(booted.machine_names("control-plane"), planned(after)), worker: planned(before)}
        until(
            lambda wanted=wanted: versions_of(booted) == wanted, "the worker keeps its version until the second stage"
        )
        release = releases.release(after)
        tags = {name: {f"v{after}"} for name in COMPONENTS} | {"etcd": {release.etcd}}
        tags |= {"kube-proxy": {f"v{after}"}, "coredns": {release.coredns.rpartition(":")[2]}}
        until(
            lambda tags=tags: {name: running(booted).get(name) for name in tags} == tags, "all images have the new tags"
        )
        serial = agent(head)["serials"]["pointer"]
        assert len([key for key in booted.cloud_state.objects(store) if f"-{serial}." in key]) >= 3, (
            "one snapshot before each upgrade"
        )
        (new,) = renewed(booted, "up", STACK, "--sandbox", "--yes")
        new.until("ready", READY_SECONDS)
        until(
            lambda after=after: set(versions_of(booted).values()) == {planned(after)}, "the worker has the version too"
        )
        until(lambda: all_ready(head, 4), "all nodes are Ready")
        assert head.kubectl("get", "configmap", "kept", "--output", "jsonpath={.data.a}") == "b"
        assert (
            base64.b64decode(head.kubectl("get", "secret", "kept", "--output", "jsonpath={.data.word}")) == b"readable"
        )
        bindings = "only the agent approves kubelets, also after kubeadm has created its bindings again"
        until(lambda: "node-autoapprove" not in head.kubectl("get", "clusterrolebindings", "-oname"), bindings)
        assert {machine.status()["kubernetes"] for machine in booted.machines.values()} == {after}
