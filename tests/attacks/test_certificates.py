"""From root on a Linux worker: get the certificate of another node, keep one after the machine was replaced."""

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError

import pytest
from cryptography import x509

from tests.agent.kubelets import CLIENT, SERVING
from tests.attacks import audit
from tests.attacks.account import Account, opened
from tests.attacks.ended import ended
from tests.awaited import until
from tests.lab.agent.served import TOKEN, Served

pytestmark = pytest.mark.lab

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
AWAY = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "x", "message": "x"}]}}


@pytest.fixture
def account(tmp_path: Path, loader: ModuleType) -> Iterator[Account]:
    """Return an account with a control plane and two workers."""
    (tmp_path / "account").mkdir()
    with opened(tmp_path / "account", loader) as made:
        for name, address in (("control-plane-0", "10.20.64.10"), ("web-0", "10.20.1.4"), ("web-1", "10.20.1.5")):
            made.launch(name, address)
        yield made


class Agent:
    """The active agent on control-plane-0."""

    def __init__(self, account: Account, api: Any, module: Callable[[str], ModuleType]) -> None:
        self.account, self.api, self.module = account, api, module
        self.has_policy = False
        """Whether an admission policy refuses writes of replaced machines, before the agent judges their requests."""
        self.silent: dict[str, tuple[str, float, float]] = {}
        self.revoked: Any = None
        """Its list of revoked machines, from the first round on."""
        self.refusals: Any = None
        """How it has the API server refuse revoked machines; None: it does not."""

    def round(self) -> None:
        """Run the concerns that admit machines and judge requests."""
        with self.account.on("control-plane-0") as facts:
            run = machine_run("control-plane-0", facts, Path("/nowhere"))
            given = (run, self.api, self.account.members(), True, self.silent, lambda name: None)
            self.revoked = self.revoked or self.module("revoked_machines").RevokedMachines(run)
            self.revoked.reconcile(self.module("seen").Seen(*given))
            self.module("announcements").reconcile(self.module("seen").Seen(*given))
            self.module("signing").reconcile(self.module("seen").Seen(*given))
            if self.has_policy:
                self.module("revocations").reconcile(self.module("seen").Seen(*given))
            if self.refusals:
                self.refusals()


def machine_run(name: str, facts: dict[str, str], root: Path) -> Any:
    """Return a run of the executor on a machine."""
    run = importlib.import_module("run").Run(root, {"machine": {"name": name}, "facts": facts}, {})
    run.try_for(60)
    return run


def announce(account: Account, name: str, folder: Path) -> str:
    """Announce a machine as its executor does; return its bootstrap token."""
    with account.on(name) as facts:
        root = folder / account.instances[name]
        return importlib.import_module("announcing").announce(machine_run(name, facts, root), "join")


@pytest.fixture
def agent(account: Account, api: Any, module: Callable[[str], ModuleType]) -> Iterator[Agent]:
    """Return the agent of an API without nodes, requests, tokens and record of an earlier test."""
    module("signing").close(api)
    forget(api)
    yield Agent(account, api, module)
    forget(api)


def forget(api: Any) -> None:
    """Delete what a test leaves."""
    records = [f"/api/v1/namespaces/kube-system/configmaps/mullion-{each}" for each in ("machines", "revoked")]
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    for folder in (NODES, REQUESTS, leases):
        for each in api.call("GET", folder)["items"]:
            api.call("DELETE", f"{folder}/{each['metadata']['name']}")
    for each in api.call("GET", "/api/v1/namespaces/kube-system/secrets")["items"]:
        if each["metadata"]["name"] != f"bootstrap-token-{TOKEN[:6]}":
            api.call("DELETE", f"/api/v1/namespaces/kube-system/secrets/{each['metadata']['name']}")
    for record in records:
        if api.find(record):
            api.call("DELETE", record)


def verdict(api: Any, name: str) -> tuple[str, str]:
    """Return condition and message of a request."""
    conditions = api.call("GET", f"{REQUESTS}/{name}").get("status", {}).get("conditions") or [{}]
    return conditions[0].get("type", ""), conditions[0].get("message", "")


def joined(served: Served, agent: Agent, name: str, folder: Path) -> dict[str, Any]:
    """Join a machine as its kubelet does; return the identity of its certificate."""
    token = announce(agent.account, name, folder)
    agent.round()
    asked = served.request(served.pem(name), CLIENT, {"token": token})
    agent.round()
    assert verdict(agent.api, asked)[0] == "Approved"
    owner = served.issued(asked)
    agent.round()
    # the certificate of a replaced machine's successor is refused until the API server has read it; kubelets ask again
    until(lambda: served.status(owner, f"{NODES}/{name}") != 500, f"{name} is not refused")
    node = {"metadata": {"name": name}}
    until(lambda: served.call(owner, "POST", NODES, node).get("kind") == "Node", f"{name} registers")
    agent.round()
    return owner


def test_a_workers_token_gets_no_other_nodes_certificate(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Ask for the certificate of a Node that flannel declares away, of a planned machine, or of another name.

    Refused by: the agent, which approves a name only for the token of that machine.
    Seen in: the request: `the token is not of the machine that has the name NAME now`, or that no machine has it.
    """
    joined(served, agent, "web-0", tmp_path)
    joined(served, agent, "control-plane-0", tmp_path)
    token = announce(agent.account, "web-1", tmp_path)
    agent.round()
    for name in ("web-0", "control-plane-0"):
        api.call("PATCH", f"{NODES}/{name}/status", AWAY, MERGE)
    names = ("control-plane-0", "web-0", "web-9", "control-plane-1")
    asked = {name: served.request(served.pem(name), CLIENT, {"token": token}) for name in names}
    agent.round()
    said = {name: verdict(api, request) for name, request in asked.items()}
    assert {condition for condition, _ in said.values()} == {"Denied"}, said
    for name in ("control-plane-0", "web-0"):
        assert said[name][1] == f"the token is not of the machine that has the name {name} now"
    assert said["web-9"][1] == "the cloud has no machine web-9"
    assert said["control-plane-1"][1] == "control-plane-1 is no planned member"


def test_the_secret_that_every_machine_reads_gives_no_rights(served: Served, agent: Agent) -> None:
    """Join with the secret that every machine can read.

    Refused by: the API server; the secret is a token of a group without rights.
    Seen in: the audit log, with 403 and the user system:bootstrap:ID.
    """
    with agent.account.on("web-1") as facts:
        secret = machine_run("web-1", facts, Path("/nowhere")).secret("join")
    nobody = importlib.import_module("kinds.cluster").NOBODY
    served.kubeadm("token", "create", secret, "--groups", nobody, "--kubeconfig", str(served.administrator))
    until(lambda: served.call({"token": secret}, "GET", NODES)["code"] == 403, "the token is known")
    body = {"metadata": {"generateName": "csr-"}, "spec": {"signerName": CLIENT, "usages": ["client auth"]}}
    for method, path in (("POST", REQUESTS), ("GET", REQUESTS), ("GET", "/api/v1/namespaces/kube-system/configmaps")):
        assert served.call({"token": secret}, method, path, body)["code"] == 403
    audit.refused(served, 403, REQUESTS, user=f"system:bootstrap:{secret[:6]}", says="cannot create resource")


def test_a_worker_cannot_announce_in_another_machines_name(agent: Agent, tmp_path: Path) -> None:
    """Write another machine's announcement, so that it gets a token that you know.

    Refused by: the cloud, by the machine's rights.
    Seen in: the cloud's audit log, with AccessDenied for the machine's role.
    """
    victim = agent.account.instances["web-0"]
    with agent.account.on("web-1") as facts:
        run = machine_run("web-1", facts, tmp_path)
        place = f"{facts['bundle_store']}/join/AROAWORKERS%3A{victim}.json"
        for method, body in (("PUT", b'{"number": "0"}'), ("GET", b"")):
            with pytest.raises(HTTPError, match="AccessDenied"):
                run.ask("store", place, method, body)


def test_an_announcement_with_a_changed_content_admits_nobody(
    agent: Agent, api: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Announce with deep nesting, wrong types, another machine's id, or a wrong number.

    Refused by: the agent.
    Seen in: the agent's log: `the announcement of machine ID of NAME is not valid`.
    """
    instance = agent.account.instances["web-1"]
    bodies = [b"[" * 60000, b"7", b"{}", b'{"number": 7, "instance": "%s"}' % instance.encode(), b"\xff" * 9]
    bodies += [b'{"number": "%s", "instance": "i-0"}' % (b"0" * 32)]
    for body in bodies:
        with agent.account.on("web-1") as facts:
            place = f"{facts['bundle_store']}/join/AROAWORKERS%3A{instance}.json"
            machine_run("web-1", facts, tmp_path).ask("store", place, "PUT", body)
        agent.round()
        assert f"the announcement of machine {instance} of web-1 is not valid" in capsys.readouterr().out
    secrets = api.call("GET", "/api/v1/namespaces/kube-system/secrets")["items"]
    assert {each["metadata"]["name"] for each in secrets} <= {f"bootstrap-token-{TOKEN[:6]}"}


def test_a_replaced_machines_certificate_is_not_renewed_and_does_not_keep_its_successor_out(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Keep a stolen kubelet key alive, with heartbeats so that the Node stays Ready, while the machine is rolled.

    Refused by: the agent, which renews only for the machine that the cloud has now.
    Seen in: the request: `the cloud has no machine NAME`, or `was not issued to the machine that has the name NAME
    now`.
    """
    account, names = agent.account, [x509.DNSName("web-1"), x509.IPAddress(ip_address("10.20.1.5"))]
    stolen = joined(served, agent, "web-1", tmp_path)
    renewed = served.request(served.pem("web-1"), CLIENT, stolen)
    agent.round()
    assert verdict(api, renewed)[0] == "Approved", "its own machine renews"
    served.issued(renewed)
    account.terminate("web-1")
    for signer, pem in ((CLIENT, served.pem("web-1")), (SERVING, served.pem("web-1", names))):
        asked = served.request(pem, signer, stolen)
        agent.round()
        assert verdict(api, asked) == ("Denied", "the cloud has no machine web-1")
    account.launch("web-1", "10.20.1.5")
    agent.round()
    assert api.find(f"{NODES}/web-1") is None, "kubeadm join refuses while a Node of this name is Ready"
    joined(served, agent, "web-1", tmp_path)
    for signer, pem in ((CLIENT, served.pem("web-1")), (SERVING, served.pem("web-1", names))):
        asked = served.request(pem, signer, stolen)
        agent.round()
        condition, message = verdict(api, asked)
        assert (condition, "was not issued to the machine" in message) == ("Denied", True), message


def test_the_token_of_a_replaced_machine_is_refused(served: Served, agent: Agent, api: Any, tmp_path: Path) -> None:
    """Join again with the token of a machine that was replaced.

    Refused by: the agent, for which the token is of the old machine.
    Seen in: the request: `the token is not of the machine that has the name NAME now`.
    """
    token = announce(agent.account, "web-1", tmp_path)
    agent.round()
    agent.account.terminate("web-1")
    agent.account.launch("web-1", "10.20.1.5")
    asked = served.request(served.pem("web-1"), CLIENT, {"token": token})
    agent.round()
    assert verdict(api, asked) == ("Denied", "the token is not of the machine that has the name web-1 now")


def test_a_flood_of_requests_fills_no_record_and_delays_no_other_machine(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Request certificates without end, so that the record of machines is full and other machines cannot join.

    Refused by: the agent, which approves four certificates of a machine in an hour; two more requests wait.
    Seen in: the request: `2 requests wait already`, with the limit; those that wait have no condition.
    """
    own = joined(served, agent, "web-1", tmp_path)
    flood = [served.request(served.pem("web-1"), CLIENT, own) for _ in range(8)]
    agent.round()
    joined(served, agent, "web-0", tmp_path)
    said = [verdict(api, each) for each in flood]
    assert sorted(condition for condition, _ in said) == ["", "", *3 * ["Approved"], *3 * ["Denied"]]
    denied = {message for condition, message in said if condition == "Denied"}
    assert denied == {f"2 requests wait already: {importlib.import_module('agent.signing').TOO_MANY}"}


def test_a_stolen_certificate_ends_within_a_day(served: Served, agent: Agent, tmp_path: Path) -> None:
    """Use a stolen certificate, client or serving, for as long as it is valid.

    Refused by: the API server after a day; kube-controller-manager signs for no longer.
    Seen in: the audit log, with 401 and no user.
    """
    own = joined(served, agent, "web-1", tmp_path)
    names = [x509.DNSName("web-1"), x509.IPAddress(ip_address("10.20.1.5"))]
    asked = served.request(served.pem("web-1", names), SERVING, own)
    agent.round()
    for certificate in (own, served.issued(asked)):
        found = x509.load_pem_x509_certificate(certificate["certificate"].read_bytes())
        left = found.not_valid_after_utc - datetime.now(timezone.utc)
        assert timedelta(hours=23) < left <= timedelta(hours=24)
    old = {**own, "certificate": served.folder / "ended.pem"}
    old["certificate"].write_bytes(ended(served.pki, own["certificate"]))
    assert served.call(old, "GET", f"{NODES}/web-1")["code"] == 401
    audit.refused(served, 401, f"{NODES}/web-1", user="", says="")


def test_a_machine_that_lost_its_certificate_joins_again(served: Served, agent: Agent, tmp_path: Path) -> None:
    """Not an attack: the same machine proves itself again, also while its Node exists."""
    joined(served, agent, "web-1", tmp_path)
    token = announce(agent.account, "web-1", tmp_path)
    asked = served.request(served.pem("web-1"), CLIENT, {"token": token})
    agent.round()
    assert verdict(agent.api, asked)[0] == "Approved"
