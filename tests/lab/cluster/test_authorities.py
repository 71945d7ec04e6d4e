"""Certificate authorities are rotated on a running cluster, number by number, and no machine is replaced."""

import pytest

from components.node.layout import LINUX, PKI
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import at_rest, etcdctl, nodes
from tests.lab.cluster.authorities import issuer, names, signed_by
from tests.lab.cluster.running import change
from tests.lab.cluster.test_following import STACK, booted, head

__all__ = ["booted", "head"]

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.soak]

OLD_CA = "/root/old.crt"


@pytest.fixture(scope="module")
def worker(booted: BootedCluster) -> Machine:
    machine = booted.machine(booted.machine_names("linux")[0])
    machine.run("cp", LINUX.ca, OLD_CA)
    return machine


def test_the_successor_is_trusted_everywhere(booted: BootedCluster, head: Machine, worker: Machine) -> None:
    _raise(booted, head, 1)
    assert names(head, f"{PKI}/ca.crt") == names(head, LINUX.ca) == ["kubernetes", "kubernetes-1"]
    assert names(head, f"{PKI}/etcd/ca.crt") == ["etcd-ca", "etcd-ca-1"]
    assert signed_by(head) == {"kubernetes", "front-proxy-ca", "etcd-ca"}, "the old authorities sign"
    until(lambda: names(worker, LINUX.ca) == ["kubernetes", "kubernetes-1"], "the worker trusts both")
    _works(booted, head, worker)


def test_the_successor_signs_and_clients_of_the_old_authority_are_still_served(
    booted: BootedCluster, head: Machine, worker: Machine
) -> None:
    _raise(booted, head, 2)
    assert signed_by(head) == {"kubernetes-1", "front-proxy-ca-1", "etcd-ca-1"}
    until(lambda: set(names(worker, LINUX.ca)) == {"kubernetes-1", "kubernetes"}, "the worker trusts both")
    _works(booted, head, worker)


def test_the_old_authority_is_dropped(booted: BootedCluster, head: Machine, worker: Machine) -> None:
    _raise(booted, head, 3)
    until(lambda: names(worker, LINUX.ca) == ["kubernetes-1"], "the worker trusts the new one alone")
    until(lambda: issuer(worker) == issuer(head) == "kubernetes-1", "both kubelets have joined again")
    _works(booted, head, worker)


def _raise(booted: BootedCluster, head: Machine, number: int) -> None:
    """Set the number, and wait until the control plane has changed."""
    change(booted, STACK, lambda cluster: cluster.update(rotation={"certificate_authorities": number}))
    plan = f"{number}/ca.crt"
    current = "/opt/mullion/current/plan.json"
    until(lambda: plan in head.file(current).read_text() and at_rest(head), f"the control plane is at {number}")


def _works(booted: BootedCluster, head: Machine, worker: Machine) -> None:
    """Check that clients that trust the first authority alone, and others, reach the API, and that it reaches kubelets.

    The first ones stand for pods that read their CA file only at their start.
    """
    url = f"{booted.document(worker.record)['facts']['api_url']}/readyz"
    for each in (OLD_CA, LINUX.ca):
        asked = ("curl", "--silent", "--show-error", "--cacert", each, url)
        until(lambda asked=asked: worker.run(*asked).stdout == "ok", f"a client with {each} reaches the API")
    ready = dict.fromkeys((head.name, worker.name), True)
    until(lambda: {name: _ready(node) for name, node in nodes(head).items()} == ready, "both Nodes are Ready")
    assert etcdctl(head, "endpoint", "health"), "the API server reaches the kubelet of the control plane"
    path = f"/api/v1/nodes/{worker.name}/proxy/healthz"
    until(lambda: head.kubectl("get", "--raw", path) == "ok", "the API server reaches the worker's kubelet")


def _ready(node: dict) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])
