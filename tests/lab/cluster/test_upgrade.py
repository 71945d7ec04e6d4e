"""`mullion upgrade` over minor versions: three control planes hop one after the other, then the worker is made anew."""

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from components import releases
from operations.exits import Exit
from sandbox.aws.s3 import BUCKET
from sandbox.boot.machine import Machine
from sandbox.boot.site import Site
from tests.lab.cluster.asking import agent, at_rest, condition, nodes, until
from tests.lab.cluster.running import boot, renewed
from tools.lab import cluster as programs
from tools.lab import images

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

STACK = "three"
READY_SECONDS = 600
HOP_SECONDS = 900
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

Cluster = Callable[..., Site]


@pytest.fixture(scope="module")
def versions(kubernetes: str) -> list[str]:
    """From the oldest to the newest."""
    if kubernetes not in programs.BEFORE:
        pytest.skip(f"no upgrade to {kubernetes} is tried, only to {', '.join(programs.BEFORE)}")
    return [*programs.BEFORE[kubernetes], kubernetes]


@pytest.fixture(scope="module")
def site(cluster: Cluster, versions: list[str]) -> Site:
    """The cluster at the oldest version, all ready; it can download what the others need."""
    made = cluster(STACK, *versions)
    machines = [made.machine(name) for pool in ("control-plane", "linux") for name in made.names(pool)]
    boot(machines, READY_SECONDS)
    return made


def heads(site: Site) -> list[Machine]:
    """The control planes."""
    return [site.machine(name) for name in site.names("control-plane")]


def preload(machines: Iterable[Machine], kubernetes: str, archive: Path) -> None:
    """Give machines the images of another version, which they would pull from a registry."""
    images.archive(kubernetes, archive)
    for each in machines:
        place = each.file("/root/images.tar")
        place.hardlink_to(archive)
        words = ("--namespace", "k8s.io", "images", "import", "/root/images.tar")
        ran = each.run("/usr/local/bin/ctr", *words, seconds=300)
        place.unlink()
        assert ran.returncode == 0, ran.stderr
    archive.unlink()


def hopped(site: Site, version: str) -> bool:
    """Every control plane reports it, and nobody has the turn."""
    return all(
        (each.status().get("kubernetes"), each.status().get("state")) == (version, "ready") and at_rest(each)
        for each in heads(site)
    )


def kubelets(site: Site) -> dict[str, str]:
    """Version of each node's kubelet."""
    return {name: each["status"]["nodeInfo"]["kubeletVersion"] for name, each in nodes(heads(site)[0]).items()}


def running(site: Site) -> dict[str, set[str]]:
    """Tags of the images of kube-system, by the images' names."""
    head = heads(site)[0]
    pods = json.loads(head.kubectl("get", "pods", "--namespace", "kube-system", "--output", "json"))["items"]
    found: dict[str, set[str]] = {}
    for each in (container["image"] for pod in pods for container in pod["spec"]["containers"]):
        name, _, tag = each.rpartition("/")[2].partition(":")
        found.setdefault(name, set()).add(tag)
    return found


def test_control_planes_hop_one_minor_at_a_time_and_the_worker_follows(site: Site, versions: list[str]) -> None:
    """CP: what was in the cluster stays; kubelets are never newer than the API; a snapshot is made before each."""
    head, worker = heads(site)[0], site.names("linux")[0]
    head.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    head.kubectl("create", "secret", "generic", "kept", "--from-literal=word=readable")
    store = next(each.id for each in site.world.resources(BUCKET) if each.name.endswith("-snapshots"))
    for before, after in pairwise(versions):
        preload(heads(site), after, site.folder / "images.tar")
        site.images = programs.folder(after) / "containerd"  # of machines that are made from now on
        # in the sandbox, whose machines are not these, nothing is waited for: the second stage is refused, and awaited
        assert renewed(site, "upgrade", STACK, after, "--sandbox", "--yes", ends=Exit.FAILED) == []
        until(lambda after=after: hopped(site, after), f"the control plane has {after}", HOP_SECONDS)
        planes = dict.fromkeys(site.names("control-plane"), f"v{after}")
        assert kubelets(site) == {**planes, worker: f"v{before}"}, "the worker waits for the second stage"
        release = releases.release(after)
        tags = {name: {f"v{after}"} for name in COMPONENTS} | {"etcd": {release.etcd}}
        tags |= {"kube-proxy": {f"v{after}"}, "coredns": {release.coredns.rpartition(":")[2]}}
        until(lambda tags=tags: {name: running(site).get(name) for name in tags} == tags, "all images are new", 240)
        serial = agent(head)["serials"]["pointer"]
        assert len([key for key in site.world.objects(store) if f"-{serial}." in key]) >= 3, "one before each"
        (new,) = renewed(site, "up", STACK, "--sandbox", "--yes")
        new.until("ready", READY_SECONDS)
        until(lambda after=after: set(kubelets(site).values()) == {f"v{after}"}, "the worker has it too")
        until(lambda: {condition(each, "Ready") for each in nodes(head).values()} == {"True"}, "all are Ready", 240)
        assert head.kubectl("get", "configmap", "kept", "--output", "jsonpath={.data.a}") == "b"
        assert head.kubectl("get", "secret", "kept", "--output", "jsonpath={.data.word}")
        bindings = "the agent alone approves kubelets, also after kubeadm made its bindings anew"
        until(lambda: "node-autoapprove" not in head.kubectl("get", "clusterrolebindings", "-oname"), bindings)
        assert {name: each.status()["kubernetes"] for name, each in site.machines.items()} == dict.fromkeys(
            site.machines, after
        )
