"""Three control planes that boot at once, as in aws-prod: one founds the cluster, two join it, then a worker."""

import base64
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from components.node.kubeadm import VERIFYING_KEYS
from components.releases.order import older
from sandbox.boot.machine import KUBECTL, Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import all_ready, at_rest, condition, etcdctl, nodes, stored
from tests.lab.cluster.running import change, renewed

pytestmark = [pytest.mark.lab, pytest.mark.engine]

READY_SECONDS = 600

Cluster = Callable[[str, str], BootedCluster]


@pytest.fixture(scope="module")
def three(cluster: Cluster, kubernetes: str) -> BootedCluster:
    """Return the cluster whose machines all booted at the same moment."""
    booted = cluster("three", kubernetes)
    machines = [booted.machine(name) for pool in ("control-plane", "linux") for name in booted.machine_names(pool)]
    with ThreadPoolExecutor(len(machines)) as at_once:
        list(at_once.map(Machine.boot, machines))
    for each in machines:
        each.until("ready", READY_SECONDS)
    return booted


def control_planes(booted: BootedCluster) -> list[Machine]:
    return [booted.machine(name) for name in booted.machine_names("control-plane")]


def test_cp_exactly_one_of_three_control_planes_that_boot_at_once_founds_the_cluster_and_the_others_join(
    three: BootedCluster,
) -> None:
    heads = control_planes(three)
    founders = [each.name for each in heads if each.file("/var/lib/mullion/founder").exists()]
    assert len(founders) == 1
    members = [each.name for each in heads if each.file("/var/lib/mullion/member").exists()]
    assert sorted([*founders, *members]) == three.machine_names("control-plane")
    objects = until(lambda: all_ready(heads[0], 4), "all nodes are Ready")
    assert sorted(objects) == sorted(three.machines)


def test_the_agents_record_has_the_certificate_that_each_kubelet_uses(three: BootedCluster, kubernetes: str) -> None:
    """Also the founder's, which kubeadm signed, and which its kubelet may keep."""
    if older(kubernetes, "1.32"):
        pytest.skip("before 1.32 Kubernetes does not say with which certificate a kubelet asks for another")
    (head, *_) = control_planes(three)
    found = json.loads(head.kubectl("get", "configmap/mullion-machines", "--namespace=kube-system", "--output=json"))
    for name, machine in three.machines.items():
        pem = machine.run("cat", "/var/lib/kubelet/pki/kubelet-client-current.pem").stdout.encode()
        used = x509.load_pem_x509_certificates(pem)[0].fingerprint(hashes.SHA256()).hex()
        assert used in json.loads(found["data"][name])["certificates"], name


def test_every_control_plane_is_a_voting_member_of_etcd_at_its_planned_address(three: BootedCluster) -> None:
    heads = control_planes(three)
    listed = etcdctl(heads[0], "member", "list")["members"]
    planned = {f"https://{each.record.outputs['privateIp']}:2380" for each in heads}
    assert {url for each in listed for url in each["peerURLs"]} == planned
    assert not [each["name"] for each in listed if each.get("isLearner")]


def test_the_api_answers_by_its_name_while_any_single_control_plane_is_off(three: BootedCluster) -> None:
    heads = control_planes(three)
    worker = three.machine(three.machine_names("linux")[0])
    url = f"{three.document(worker.record)['facts']['api_url']}/readyz"

    def answers() -> bool:
        """Ask as the worker's programs do: by name, through the load balancer."""
        ran = worker.run("curl", "--silent", "--max-time", "5", "--cacert", "/etc/mullion/ca.crt", url)
        return ran.stdout == "ok"

    until(answers, "the API answers through its load balancer")
    gone, other = heads[-1], heads[0]
    gone.cut()
    until(answers, "the API answers with two of three")
    until(lambda: condition(nodes(other)[gone.name], "Ready") != "True", "its node is not Ready")
    gone.boot()
    until(lambda: all_ready(other, 4), "the control plane is back")


def test_a_lost_control_plane_is_replaced_and_its_etcd_member_removed(three: BootedCluster) -> None:
    heads = control_planes(three)
    lost, other = heads[1], heads[0]
    lost.cut()
    (new,) = renewed(three, "replace-control-plane", "three", lost.name, "--sandbox", "--yes")
    new.until("ready", READY_SECONDS)

    def has_its_place() -> bool:
        objects = all_ready(other, 4)
        return bool(objects) and objects[new.name]["spec"]["providerID"].endswith(f"/{new.record.id}")

    until(has_its_place, "all nodes are Ready, the new machine's among them")
    test_every_control_plane_is_a_voting_member_of_etcd_at_its_planned_address(three)


@pytest.mark.soak
def test_new_keys_come_into_use_on_all_three_and_no_token_is_refused_meanwhile(three: BootedCluster) -> None:
    """SEC: keys of encryption at rest and of service-account tokens, on one machine after the other."""
    heads = control_planes(three)
    heads[0].kubectl("create", "secret", "generic", "kept", "--from-literal=word=still readable")
    keys = [each.file(VERIFYING_KEYS).read_text() for each in heads]
    assert len(set(keys)) == 1
    change(three, "three", lambda cluster: cluster.update(rotation={"encryption": 1, "service_account": 1}))
    for each in heads:
        each.run("systemctl", "restart", "mullion-agent.service")  # the agent checks every five minutes
    signers: set[str] = set()

    def through() -> bool:
        for head in heads:
            signers.add(_takes_tokens_of(head, heads))
        memory = json.loads(heads[0].kubectl("get", "configmap", "mullion-agent", "-nkube-system", "-ojson"))["data"]
        wanted = {f"{ring}.{each.name}": "2 2" for ring in ("key", "signer") for each in heads}
        return wanted.items() <= memory.items() and memory.get("rewritten") == "2" and memory.get("turn") == ""

    until(through, "all three use the newest keys", 1500)
    assert len(signers - {""}) == 2, "tokens of both keys were used"
    assert stored(heads[0], "kept").startswith(b"k8s:enc:secretbox:v1:key2:")
    value = heads[1].kubectl("get", "secret", "kept", "--output", "jsonpath={.data.word}")
    assert base64.b64decode(value) == b"still readable"
    files = {each.file(VERIFYING_KEYS).read_text() for each in heads}
    assert [(text.count("BEGIN"), text.endswith(keys[0])) for text in files] == [(2, True)], (
        "the keys are the same on all three"
    )
    until(lambda: all(map(at_rest, heads)), "all control planes are at rest")


def _takes_tokens_of(head: Machine, others: Iterable[Machine]) -> str:
    """Sign a token on one API server and show it to all; return the key that signed it, empty while the server
    starts."""
    ran = head.run(*KUBECTL, "create", "token", "default")
    if ran.returncode:
        return ""
    token = ran.stdout.strip()
    for machine in others:
        # /api is open to every authenticated user
        asked = ("--silent", "--insecure", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "5")
        code = machine.run("curl", *asked, "--header", f"Authorization: Bearer {token}", "https://127.0.0.1:6443/api")
        assert code.stdout in ("200", "000", "403", "500", "503"), (
            f"{machine.name} on a token of {head.name}: {code.stdout}"
        )
    header = token.partition(".")[0]
    return json.loads(base64.urlsafe_b64decode(header + "=="))["kid"]
