"""A changed stack reaches a running control plane by the desired-state pointer; the program replaces no machine."""

import base64
import json
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from components import releases
from components.node import api_server
from components.node.layout import PKI
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import agent, at_rest, etcdctl, stored
from tests.lab.cluster.running import boot, change

pytestmark = [pytest.mark.lab, pytest.mark.engine]

READY_SECONDS = 400
KILLS = 10
STACK = "aws-dev"
MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
STATIC = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
REQUESTS = ("get", "certificatesigningrequests", "--output", "json")

Cluster = Callable[[str, str], BootedCluster]


@pytest.fixture(scope="module")
def booted(cluster: Cluster, kubernetes: str) -> BootedCluster:
    """Return a cluster with one control plane and one worker."""
    booted_cluster = cluster(STACK, kubernetes)
    machines = [booted_cluster.machine(booted_cluster.machine_names(pool)[0]) for pool in ("control-plane", "linux")]
    boot(machines, READY_SECONDS)
    return booted_cluster


@pytest.fixture(scope="module")
def head(booted: BootedCluster) -> Machine:
    return booted.machine(booted.machine_names("control-plane")[0])


def test_the_agent_approves_the_planned_machines_and_reports_it(booted: BootedCluster, head: Machine) -> None:
    """CP-05: only the agent approves; every kubelet has its serving certificate."""

    def settled() -> bool:
        state = agent(head)
        return bool(state["active"] and state["serials"]["members"] and state["snapshots"]["newest"]) and at_rest(head)

    until(settled, "the agent follows the members, and a snapshot exists")
    bindings = ("get", "clusterrolebindings", "--output", "name")
    until(lambda: "node-autoapprove" not in head.kubectl(*bindings), "the automatic approval is removed")

    def served() -> bool:
        requests = json.loads(head.kubectl(*REQUESTS))["items"]
        issued = {each["spec"]["username"] for each in requests if each["status"].get("certificate")}
        serving = {
            each["spec"]["username"] for each in requests if each["spec"]["signerName"].endswith("kubelet-serving")
        }
        return {f"system:node:{name}" for name in booted.machines} <= issued & serving

    until(served, "kubelets have their certificates")


def test_a_changed_label_reaches_a_node_without_a_change_of_machines(booted: BootedCluster, head: Machine) -> None:
    worker = booted.machine_names("linux")[0]
    change(booted, STACK, lambda cluster: cluster["pools"]["linux"].update(labels={"team": "billing"}))
    until(lambda: _labels(head, worker).get("team") == "billing", "the Node has the label")
    change(booted, STACK, lambda cluster: cluster["pools"]["linux"].update(labels={}))
    until(lambda: "team" not in _labels(head, worker), "the Node has lost the label")


def test_a_changed_flag_is_applied_by_kubeadm_after_a_snapshot_and_the_turn_is_given_back(
    booted: BootedCluster, head: Machine, kubernetes: str
) -> None:
    head.kubectl("create", "configmap", "kept-over-a-change", "--from-literal=a=b")
    _set_event_ttl(booted, kubernetes, "2h0m0s")
    until(
        lambda: "--event-ttl=2h0m0s" in head.file(MANIFEST).read_text() and at_rest(head),
        "the flag is applied and no machine changes any more",
    )
    serial = agent(head)["serials"]["pointer"]
    store = next(
        each.id for each in booted.cloud_state.resources("aws:s3/bucket:Bucket") if each.name.endswith("-snapshots")
    )
    assert [key for key in booted.cloud_state.objects(store) if f"-{serial}." in key], (
        "a snapshot was made before the change"
    )
    assert "--encryption-provider-config" in head.file(MANIFEST).read_text(), "planned flags stay beside it"
    assert head.kubectl("get", "configmap", "kept-over-a-change", "--output", "jsonpath={.data.a}") == "b"
    memory = ("--namespace", "kube-system", "get", "configmap", "mullion-agent", "--output", "json")
    until(lambda: json.loads(head.kubectl(*memory))["data"]["turn"] == "", "the turn is given back")


@pytest.mark.soak
def test_a_change_completes_while_agent_and_executor_are_killed_repeatedly(
    booted: BootedCluster, head: Machine, kubernetes: str
) -> None:
    """CP: at any point of kubeadm, the executor or the agent; systemd restarts both."""
    _set_event_ttl(booted, kubernetes, "3h0m0s")
    chance, killed = random.Random(4), list[str]()

    def through() -> bool:
        return "--event-ttl=3h0m0s" in head.file(MANIFEST).read_text() and at_rest(head)

    while len(killed) < KILLS:
        killed.append(chance.choice(("mullion-agent.service", "mullion.service")))
        head.run("systemctl", "kill", "--signal=KILL", killed[-1])
        time.sleep(chance.uniform(1, 16))
    until(through, f"the flag is applied and the turn given back, after {killed}")


@pytest.mark.soak
def test_a_new_key_of_encryption_at_rest_is_used_after_the_api_server_restarts(
    booted: BootedCluster, head: Machine
) -> None:
    """SEC: the program stores a new key; no machine is replaced, and in the end every Secret is encrypted with it."""
    head.kubectl("create", "secret", "generic", "kept", "--from-literal=word=still readable")
    assert stored(head, "kept").startswith(b"k8s:enc:secretbox:v1:key1:")
    change(booted, STACK, lambda cluster: cluster.update(rotation={"encryption": 1}))
    head.run("systemctl", "restart", "mullion-agent.service")  # the agent checks every five minutes
    until(
        lambda: stored(head, "kept").startswith(b"k8s:enc:secretbox:v1:key2:"),
        "the Secret is encrypted with the new key",
    )
    until(lambda: at_rest(head), "the turn is given back")
    value = head.kubectl("get", "secret", "kept", "--output", "jsonpath={.data.word}")
    assert base64.b64decode(value) == b"still readable"
    keys = json.loads(head.file(api_server.ENCRYPTION).read_text())["resources"][0]["providers"][0]["secretbox"]["keys"]
    assert [each["name"] for each in keys] == ["key2", "key1"], "key1 is kept: snapshots contain data encrypted with it"


@pytest.mark.soak
def test_certificates_that_expire_soon_are_renewed_and_their_readers_restarted(
    booted: BootedCluster, head: Machine
) -> None:
    """CP: kubeadm's certificates, valid for a year, of which ten days are left."""
    # containers that lost the API server a moment ago wait for a restart
    before = until(lambda: _began(head), "all four containers run")
    _age(head, "ca", "apiserver-kubelet-client", days=10)
    head.run("systemctl", "restart", "mullion-agent.service")  # the agent checks once an hour
    until(lambda: _left(head, "apiserver-kubelet-client").days > 300, "the certificate is renewed")
    until(lambda: at_rest(head), "the turn is given back")

    def anew() -> bool:
        after = _began(head)
        return bool(after) and all(after[name] > before[name] for name in before)

    until(anew, "each container restarted, with the new certificates")
    assert etcdctl(head, "endpoint", "health"), "the API server reaches the kubelet with its new certificate"


def _set_event_ttl(booted: BootedCluster, kubernetes: str, value: str) -> None:
    """Change a flag of the API server in the stack file."""
    listed = releases.fields("ClusterConfiguration", kubernetes)["apiServer.extraArgs"] != "text-map"
    argument = [{"name": "event-ttl", "value": value}] if listed else {"event-ttl": value}
    extra = {"ClusterConfiguration": {"apiServer": {"extraArgs": argument}}}
    change(booted, STACK, lambda cluster: cluster.setdefault("kubeadm", {}).update(config=extra))


def _began(head: Machine) -> dict[str, int]:
    """Return when each static pod's container started, in ns since 1970; empty while one of the four does not run."""
    listed = head.run("/usr/local/bin/crictl", "ps", "--state", "Running", "--output", "json").stdout
    started = {each["metadata"]["name"]: int(each["createdAt"]) for each in json.loads(listed)["containers"]}
    return {name: started[name] for name in STATIC} if started.keys() >= STATIC else {}


def _certificate(head: Machine, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(head.file(f"{PKI}/{name}.crt").read_bytes())


def _left(head: Machine, name: str) -> timedelta:
    """Return the remaining validity of a certificate."""
    return _certificate(head, name).not_valid_after_utc - datetime.now(timezone.utc)


def _age(head: Machine, authority: str, name: str, days: int) -> None:
    """Replace a certificate of kubeadm by one issued a year ago, with this many days left."""
    old, end = _certificate(head, name), datetime.now(timezone.utc) + timedelta(days=days)
    key = serialization.load_pem_private_key(head.file(f"{PKI}/{authority}.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "docs/pki.md"
    builder = x509.CertificateBuilder(old.issuer, old.subject, old.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(end - timedelta(days=365)).not_valid_after(end)
    for each in old.extensions:
        builder = builder.add_extension(each.value, each.critical)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    head.file(f"{PKI}/{name}.crt").write_bytes(pem)


def _labels(head: Machine, name: str) -> dict[str, str]:
    return json.loads(head.kubectl("get", "node", name, "--output", "json"))["metadata"]["labels"]
