"""A machine that announced itself gets a bootstrap token of its own, and only then."""

import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from tests.agent.cluster import Cluster
from tests.agent.kubelets import ask, node_user, pem, spec
from tests.agent.test_signing import GIVEN
from tests.certificates import SERVER
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import NUMBER, OWN_TOKEN, TOKEN

RECORD = "/api/v1/namespaces/kube-system/configmaps/mullion-machines"
SECRET = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{OWN_TOKEN[:6]}"
MEMBER = {"name": "web-0", "pool": "web", "address": "10.20.1.4", "pods": None, "labels": {}, "taints": []}
MEMBERS = {"web-0": MEMBER | {"records": "AROAEXAMPLE:"}}


@pytest.fixture
def account(cloud: FakeCloud, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the machines by name; web-0's is there, and has announced itself."""
    machines = {"web-0": INSTANCE}
    monkeypatch.setattr(module("machines").compute, "machines", lambda run, addresses: dict(machines))
    cloud.secrets["join"] = TOKEN
    announced(cloud)
    return machines


def announced(cloud: FakeCloud, number: Any = NUMBER, instance: str = INSTANCE) -> None:
    """Write web-0's announcement."""
    body = json.dumps({"number": number, "instance": instance})
    cloud.objects[f"/bundles/join/AROAEXAMPLE:{INSTANCE}.json"] = body.encode()


def reconcile(module: Callable[[str], ModuleType], run: Any, cluster: Cluster) -> None:
    module("announcements").reconcile(module("seen").Seen(run, cluster, **GIVEN | {"members": MEMBERS}))


def described(cluster: Cluster) -> str:
    """Return whose token it is; empty if it does not exist."""
    found = cluster.find(SECRET)
    return importlib.import_module("agent.announcements").decoded(found)["description"] if found else ""


@pytest.mark.usefixtures("account")
def test_a_machine_that_announced_itself_gets_its_token_once(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    for _ in range(2):
        reconcile(module, run, cluster)
    assert described(cluster) == f"web-0 {INSTANCE}"
    assert [each for each in cluster.asked if "secrets" in each] == ["POST /api/v1/namespaces/kube-system/secrets"]


def test_a_machine_that_the_cloud_does_not_have_gets_no_token(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, account: dict[str, str]
) -> None:
    account.clear()
    reconcile(module, run, cluster)
    assert not cluster.asked


@pytest.mark.usefixtures("account")
def test_a_token_of_another_machine_is_not_taken_over(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """A machine can choose a number whose token has the id of another's; a request that waits would become its own."""
    another = {"stringData": {"description": "web-1 i-00000000000000001", "expiration": "2020-01-01T00:00:00Z"}}
    cluster.add(SECRET.rpartition("/")[0], SECRET.rpartition("/")[2], **another)
    reconcile(module, run, cluster)
    assert described(cluster) == "web-1 i-00000000000000001"


@pytest.mark.usefixtures("account")
def test_a_token_without_the_machines_group_gets_it(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """An agent of an earlier version made the token, and requests with it would be denied."""
    reconcile(module, run, cluster)
    before = cluster.find(SECRET)["data"]
    cluster.objects[SECRET]["data"] = before | {"auth-extra-groups": "c3lzdGVtOm5vYm9keQ=="}
    reconcile(module, run, cluster)
    assert cluster.find(SECRET)["data"]["auth-extra-groups"] == before["auth-extra-groups"]


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("number", [NUMBER.upper(), NUMBER[1:], 7, None, [NUMBER], f"{NUMBER}\n"])
def test_an_announcement_with_another_kind_of_number_gives_no_token(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, cloud: FakeCloud, number: Any
) -> None:
    announced(cloud, number)
    reconcile(module, run, cluster)
    assert described(cluster) == ""


@pytest.mark.usefixtures("account")
def test_a_machine_with_a_living_node_needs_no_token(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    cluster.node("web-0", instance=INSTANCE)
    cluster.beat("web-0", 1.0)
    reconcile(module, run, cluster)
    assert described(cluster) == ""
    assert json.loads(cluster.find(RECORD)["data"]["web-0"])["instance"] == INSTANCE


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("status", [None, {"conditions": [{"type": "Approved"}, {"type": "Failed"}]}])
def test_a_request_without_a_certificate_keeps_no_way_open_for_other_certificates(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, status: dict[str, Any] | None
) -> None:
    """While a certificate may be unrecorded, a request with an unknown one waits; a failed or deleted one ends that."""
    issued = module("machines").Issued(INSTANCE, {64 * "a": 2e9}, ["csr-1"])
    machines = module("machines").Machines(run, cluster, MEMBERS)
    machines.enter("web-0", issued)
    if status:
        ask(cluster, "csr-1", spec(pem(), **node_user("web-0")))
        cluster.objects["/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1"]["status"] = status
    machines.collect(cluster.call("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests")["items"])
    assert machines.issued("web-0") == module("machines").Issued(INSTANCE, {64 * "a": 2e9}, [])


def test_a_machine_that_joins_by_its_token_is_known_by_this_certificate_alone(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, account: dict[str, str]
) -> None:
    """Also before the certificate is issued; a successor does not take over the certificates of the machine before."""
    machines, issued = module("machines").Machines(run, cluster, MEMBERS), module("machines").Issued
    machines.approved("web-0", "csr-1", None)
    assert machines.issued("web-0") == issued(INSTANCE, {}, ["csr-1"], founding=0)
    machines.enter("web-0", issued("i-00000000000000001", {64 * "a": 2e9}))
    machines.approved("web-0", "csr-2", None)
    assert machines.issued("web-0") == issued(INSTANCE, {}, ["csr-2"], {64 * "a": 2e9}, founding=0)
    assert account


@pytest.mark.parametrize("name", ["control-plane-0", "control-plane-1"])
def test_only_the_agents_own_machine_keeps_its_node_and_certificate_after_a_restore(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    account: dict[str, str],
    name: str,
) -> None:
    """A snapshot names the machine of before. kubeadm signed the founder's certificate, and its Node is new."""
    account[name] = INSTANCE
    file = run.path("/var/lib/kubelet/pki/kubelet-client-current.pem")
    file.parent.mkdir(parents=True)
    file.write_text(f"{SERVER}-----BEGIN EC PRIVATE KEY-----\nnone\n-----END EC PRIVATE KEY-----\n")
    member = MEMBER | {"name": name, "pool": "control-plane", "labels": {}}
    cluster.node(name, instance=INSTANCE)
    cluster.beat(name, 1.0)
    seen = module("seen").Seen(run, cluster, **GIVEN | {"members": {name: member}})
    seen.machines.enter(name, module("machines").Issued("i-00000000000000001", {64 * "a": 2e9}))
    module("announcements").reconcile(seen)
    issued, mine = seen.machines.issued(name), name == "control-plane-0"
    certificate = x509.load_pem_x509_certificate(SERVER.encode())
    known = {certificate.fingerprint(SHA256()).hex(): certificate.not_valid_after_utc.timestamp()}
    assert (issued.instance, issued.before) == (INSTANCE, {64 * "a": 2e9})
    assert (issued.certificates, bool(cluster.find(f"/api/v1/nodes/{name}"))) == (known if mine else {}, mine)
