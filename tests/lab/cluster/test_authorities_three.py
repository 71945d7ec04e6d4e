"""Authorities of three control planes with Linux and Windows workers are rotated under load, number by number.

Afterwards workers join, a control plane is replaced, and a snapshot from before the rotation is restored.
"""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import pytest
from cryptography import x509

from components.node.layout import LINUX, PKI
from operations.console.exits import Exit
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from sandbox.boot.windows.server import CURRENT
from sandbox.boot.windows.server import PKI as WINDOWS_PKI
from tests.awaited import until
from tests.lab.cluster.asking import at_rest, nodes, ready
from tests.lab.cluster.authorities import common, issuer, names, signed_by
from tests.lab.cluster.clients import Client, permit
from tests.lab.cluster.running import booted_mixed, change, renewed
from tests.lab.cluster.test_restore import snapshot_now

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.soak]

READY_SECONDS = 900
STEP_SECONDS = 1500
STACK = "mixed"
GAP_SECONDS = 60
"""Longest time without an answer. On an idle host single requests are repeated; two cores with more work than they can
do leave requests unanswered at rest too."""
LINUX_PKI = "/var/lib/kubelet/pki"
OLD_CA, WINDOWS_CA = "/root/old.crt", r"C:\k\ca.crt"
CLIENTS = ("get", "configmap", "extension-apiserver-authentication", "--namespace=kube-system", "--output=json")

Cluster = Callable[[str, str], BootedCluster]
Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def booted(cluster: Cluster, kubernetes: str, missing: Callable[[str, str], NoReturn]) -> BootedCluster:
    return booted_mixed(cluster(STACK, kubernetes), missing, READY_SECONDS)


@pytest.fixture(scope="module")
def heads(booted: BootedCluster) -> list[Machine]:
    return [booted.machine(name) for name in booted.machine_names("control-plane")]


@pytest.fixture(scope="module")
def worker(booted: BootedCluster) -> Machine:
    return booted.machine(booted.machine_names("linux")[0])


@pytest.fixture(scope="module")
def web(booted: BootedCluster) -> Machine:
    return booted.machine(booted.machine_names("web")[0])


@pytest.fixture(scope="module")
def clients(booted: BootedCluster, heads: list[Machine], worker: Machine) -> dict[str, Client]:
    """Return clients under way: one trusts the first authority alone, one reads the machine's file at each request."""
    until(lambda: permit(heads[0], worker) or True, "the API allows the clients")
    worker.run("cp", LINUX.ca, OLD_CA)
    url = booted.document(worker.record)["facts"]["api_url"]
    found = {name: Client(worker, name) for name in ("old", "own")}
    found["old"].start(OLD_CA, url)
    found["own"].start(LINUX.ca, url)
    return found


@pytest.fixture(scope="module")
def snapshot(booted: BootedCluster, heads: list[Machine]) -> str:
    """Return the key of a snapshot from before the rotation."""
    return snapshot_now(booted, heads[0])


def test_1_the_successor_is_trusted_everywhere(
    booted: BootedCluster, heads: list[Machine], snapshot: str, clients: dict[str, Client], record_property: Record
) -> None:
    assert snapshot
    began = time.time()
    step(booted, heads, 1)
    for head in heads:
        assert names(head, f"{PKI}/ca.crt") == names(head, LINUX.ca) == ["kubernetes", "kubernetes-1"]
        assert names(head, f"{PKI}/front-proxy-ca.crt") == ["front-proxy-ca", "front-proxy-ca-1"]
        assert names(head, f"{PKI}/etcd/ca.crt") == ["etcd-ca", "etcd-ca-1"]
        assert signed_by(head) == {"kubernetes", "front-proxy-ca", "etcd-ca"}, "the old authorities sign"
    followed(booted, {"kubernetes", "kubernetes-1"})
    serves(booted, heads)
    seen(clients.values(), began, record_property)


def test_2_the_successor_signs_and_clients_of_the_old_authority_are_served(
    booted: BootedCluster, heads: list[Machine], clients: dict[str, Client], record_property: Record
) -> None:
    began = time.time()
    step(booted, heads, 2)
    for head in heads:
        assert signed_by(head) == {"kubernetes-1", "front-proxy-ca-1", "etcd-ca-1"}
    serves(booted, heads)
    seen(clients.values(), began, record_property)
    clients["old"].stop()


def test_3_the_old_authority_is_dropped_once_every_kubelet_has_a_certificate_of_the_new_one(
    booted: BootedCluster,
    heads: list[Machine],
    worker: Machine,
    web: Machine,
    clients: dict[str, Client],
    record_property: Record,
) -> None:
    before = nodes(heads[0])
    change(booted, STACK, lambda cluster: rotate(cluster, 3), ends=Exit.FAILED, gated=True)
    said = (booted.folder.parent / "command.log").read_text()
    for each in (worker, web):
        assert f"{each.name}: its kubelet still has a certificate of the old authority" in said
    change(booted, STACK, lambda cluster: rotate(cluster, 2), gated=True)
    renew(booted, heads, worker, web)
    began = time.time()
    step(booted, heads, 3)
    followed(booted, {"kubernetes-1"})
    for each in (*heads, worker):
        until(lambda each=each: issuer(each) == "kubernetes-1", f"{each.name} has joined again")
    serves(booted, heads)
    seen([clients["own"]], began, record_property)
    clients["own"].stop()
    until(lambda: former(heads[0]) == {"kubernetes-1", "front-proxy-ca-1"}, "extension API servers trust no former one")
    after = nodes(heads[0])
    assert {name: each["metadata"]["uid"] for name, each in after.items()} == {
        name: each["metadata"]["uid"] for name, each in before.items()
    }


def test_4_the_windows_kubelet_has_a_certificate_of_the_new_authority(heads: list[Machine], web: Machine) -> None:
    until(lambda: windows_issuer(web) == "kubernetes-1", "it has joined again", 900, log=web.log)
    beats(heads[0], web.name)


def test_5_new_workers_join_and_a_control_plane_is_replaced(booted: BootedCluster, heads: list[Machine]) -> None:
    change(booted, STACK, lambda cluster: cluster["pools"]["linux"].update(count=2))
    late = booted.machine(booted.machine_names("linux")[1])
    late.boot()
    late.until("ready", READY_SECONDS)
    assert names(late, LINUX.ca) == ["kubernetes-1"]
    heads[1].cut()
    (new,) = renewed(booted, "replace-control-plane", STACK, heads[1].name, "--sandbox", "--yes")
    new.until("ready", READY_SECONDS)
    heads[1] = new
    until(lambda: ready(heads[0], booted), "all Linux nodes are Ready")
    assert signed_by(new) == {"kubernetes-1", "front-proxy-ca-1", "etcd-ca-1"}


def test_6_a_snapshot_from_before_the_rotation_is_restored(
    booted: BootedCluster, heads: list[Machine], worker: Machine, web: Machine, snapshot: str
) -> None:
    for each in heads:
        each.cut()
    heads[:] = renewed(booted, "restore", STACK, "--sandbox", "--confirm", STACK, "--snapshot", snapshot)
    assert len(heads) == 3
    for each in heads:
        each.until("ready", READY_SECONDS)
    until(lambda: ready(heads[0], booted), "all Linux nodes are Ready", 900)
    assert names(worker, LINUX.ca) == names(web, WINDOWS_CA) == ["kubernetes-1"], "no worker goes back"
    until(lambda: former(heads[0]) == {"kubernetes-1", "front-proxy-ca-1"}, "extension API servers trust no former one")
    path = f"/api/v1/nodes/{worker.name}/proxy/healthz"
    until(lambda: heads[0].kubectl("get", "--raw", path) == "ok", "the API server reaches the worker's kubelet")


def rotate(cluster: dict[str, Any], number: int) -> None:
    """Write the number into a stack file's cluster."""
    cluster.update(rotation={"certificate_authorities": number})


def renew(booted: BootedCluster, heads: list[Machine], worker: Machine, web: Machine) -> None:
    """Let each kubelet get new certificates, as it does by itself within a day, and wait for the status records.

    Without its certificates it joins again (step rejoin); a control plane's needs a new serving certificate alone.
    """
    for each in heads:
        each.run("rm", f"{LINUX_PKI}/kubelet-server-current.pem")
        each.run("systemctl", "restart", "kubelet")
    worker.run("sh", "-c", f"rm {LINUX_PKI}/kubelet-*-current.pem && systemctl restart mullion")
    web.cut()
    for each in web.file(WINDOWS_PKI).glob("kubelet-*.pem"):  # also those that the link may be set to again
        each.unlink()
    web.boot()  # Wine's service manager does not notice each end of a service
    for each in (worker, web):
        until(lambda each=each: signers(each) == ["kubernetes-1"] * 2, f"{each.name} renews", 900, log=each.log)
    for each in heads:
        until(lambda each=each: signers(each)[1:] == ["kubernetes-1"], f"{each.name} renews", 900, log=each.log)


def signers(machine: Machine) -> list[str]:
    """Return the authorities that signed the kubelet's client and serving certificate, of the status record."""
    return machine.status()["kubelet_signers"].split(",")


def step(booted: BootedCluster, heads: list[Machine], number: int) -> None:
    """Set the number, which the gate must permit, and wait until every control plane has changed."""
    change(booted, STACK, lambda cluster: rotate(cluster, number), gated=True)
    plan, current = f"{number}/ca.crt", "/opt/mullion/current/plan.json"
    for head in heads:
        until(
            lambda head=head: plan in head.file(current).read_text() and at_rest(head),
            f"{head.name} is at {number}",
            STEP_SECONDS,
            log=head.log,
        )


def followed(booted: BootedCluster, wanted: set[str]) -> None:
    """Wait until the workers trust these authorities and have reported it."""
    for name, file in (("linux", LINUX.ca), ("web", WINDOWS_CA)):
        for each in map(booted.machine, booted.machine_names(name)):
            until(
                lambda each=each, file=file: {*names(each, file)} == wanted, f"{each.name} follows", 900, log=each.log
            )
            count = len(wanted)
            until(
                lambda each=each, count=count: len(each.status()["authorities"].split(",")) == count,
                f"{each.name} has reported it",
                900,
                log=each.log,
            )


def serves(booted: BootedCluster, heads: list[Machine]) -> None:
    """Check that Linux nodes are Ready, and that API servers reach kubelets."""
    until(lambda: ready(heads[0], booted), "all Linux nodes are Ready", 900)
    for name in (*booted.machine_names("linux"), *booted.machine_names("control-plane")):
        path = f"/api/v1/nodes/{name}/proxy/healthz"
        until(lambda path=path: heads[0].kubectl("get", "--raw", path) == "ok", f"the API server reaches {name}")


def seen(clients: Iterable[Client], began: float, record: Record) -> None:
    """Check what clients saw since a moment: no refused certificate or user, and no long time without an answer."""
    for client in clients:
        outages = client.outages(began)
        refused = [each for group in outages for each in group if each.refused]
        assert not refused, f"{client.name}: a certificate or a user was refused"
        longest = max((group[-1].ended - group[0].began for group in outages), default=0.0)
        for what, number in (
            ("requests", len(client.asked())),
            ("unanswered requests", sum(map(len, outages))),
            ("seconds without an answer", longest),
        ):
            record(f"{what} of client {client.name}", number)
        assert longest < GAP_SECONDS, f"{client.name}: {outages}"


def beats(head: Machine, name: str) -> None:
    """Check that a kubelet renews its lease: the one of a Windows machine without a container runtime is not Ready."""
    asked = ("get", "lease", name, "--namespace=kube-node-lease", "--output=jsonpath={.spec.renewTime}")
    before = until(lambda: head.kubectl(*asked), "there is a lease")
    until(lambda: head.kubectl(*asked) > before, f"{name} renews its lease")


def former(head: Machine) -> set[str]:
    """Return the names of the authorities by which extension API servers know clients."""
    data: dict[str, Any] = json.loads(head.kubectl(*CLIENTS))["data"]
    held = data["client-ca-file"] + data["requestheader-client-ca-file"]
    return {common(each.subject) for each in x509.load_pem_x509_certificates(held.encode())}


def windows_issuer(web: Machine) -> str:
    """Return the name of the authority that signed the Windows kubelet's certificate."""
    (found, *_) = x509.load_pem_x509_certificates(web.read(rf"{WINDOWS_PKI}\{CURRENT}"))
    return common(found.issuer)
