"""Attacks with a key that outlives its machine's rights: of a replaced machine, and of one that was revoked.

Kubernetes cannot revoke a client certificate. What the key can still do until it ends, by version, is in
docs/node-identity.md.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.agent.kubelets import CLIENT
from tests.attacks import audit
from tests.attacks.certificate_forms import two_forms
from tests.attacks.test_certificates import NODES, Agent, account, announce, joined, machine_run, verdict
from tests.attacks.test_certificates import agent as without_policy
from tests.awaited import until
from tests.lab.agent import refusing
from tests.lab.agent.served import Served

__all__ = ["account", "without_policy"]
pytestmark = pytest.mark.lab
RECORD = "/api/v1/namespaces/kube-system/configmaps/mullion-machines"
LISTED = "/api/v1/namespaces/kube-system/configmaps/mullion-revoked"
SAYS = "is replaced or revoked"
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "web-1"}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "web-1"}}


@pytest.fixture
def agent(without_policy: Agent) -> Agent:
    """Return the agent as it is, with the admission policy."""
    without_policy.has_policy = True
    return without_policy


@pytest.fixture
def with_refusals(served: Served, agent: Agent, module: Callable[[str], ModuleType]) -> Iterator[Agent]:
    """Return the agent as it is from Kubernetes 1.32 on: the API server refuses every request of listed machines."""
    if tuple(map(int, served.kubernetes.split(".")[:2])) < (1, 32):
        pytest.skip("before 1.32 the API server does not tell with which certificate a request was made")
    refusals = module("refusals").Refusals(machine_run("control-plane-0", {}, served.folder))
    fields = {"path": f"/{refusing.CONFIGURATION}", "webhook": f"{served.folder / refusing.WEBHOOK}"}
    config = {"authorization": fields, "pods": {"running": ["true"]}}
    agent.refusals = lambda: refusals.reconcile(config, agent.api)
    yield agent
    refusing.nobody(served)


def revoke(api: Any, name: str) -> None:
    """Mark the machine as revoked, as `mullion revoke` does."""
    record = api.call("GET", RECORD)
    record["data"][name] = json.dumps(json.loads(record["data"][name]) | {"revoked": True})
    api.call("PUT", RECORD, record)


def own(api: Any, name: str, certificate: tuple[str, float]) -> None:
    """Enter a certificate (sha256 and end) as one of the machine's."""
    record = api.call("GET", RECORD)
    entry = json.loads(record["data"][name])
    mark, end = certificate
    record["data"][name] = json.dumps(entry | {"certificates": entry["certificates"] | {mark: end}})
    api.call("PUT", RECORD, record)


def refused(served: Served, who: dict[str, Any], path: str, body: Any) -> bool:
    """Return whether the policy refuses a creation; the API server needs a moment to learn a changed list."""
    answer = served.call(who, "POST", path, body)
    return SAYS in str(answer.get("message"))


def logged(served: Served, *places: str) -> None:
    """Assert that the audit log has refused writes of web-1's kubelet at these paths."""
    for place in places:
        audit.refused(served, 422, place, user="system:node:web-1", says=SAYS)


def test_a_revoked_machine_writes_nothing_and_gets_no_certificate(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Register a revoked machine's Node again to be given pods, renew its Lease, or join by its token.

    Refused by: the API server, by an admission policy that lists the machine; the agent, which deletes Node and token.
    Seen in: the audit log: `is replaced or revoked`, and 401 for the token.
    """
    own, token = joined(served, agent, "web-1", tmp_path), announce(agent.account, "web-1", tmp_path)
    other = joined(served, agent, "web-0", tmp_path)
    revoke(api, "web-1")
    agent.round()
    assert api.find(f"{NODES}/web-1") is None
    assert api.find(f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token[:6]}") is None
    until(lambda: refused(served, own, NODES, NODE), "the policy is in force")
    assert refused(served, own, LEASES, LEASE)
    logged(served, NODES, LEASES)
    assert api.find(f"{NODES}/web-1") is None
    until(lambda: served.call({"token": token}, "GET", NODES)["code"] == 401, "its token is gone")
    audit.refused(served, 401, NODES, user="", says="")
    lease = LEASE | {"metadata": {"name": "web-0"}}
    assert served.call(other, "POST", LEASES, lease)["kind"] == "Lease", "other machines work"


@pytest.mark.parametrize("planned", [True, False], ids=["during a roll", "its name is scaled away"])
def test_a_revoked_machine_writes_nothing_after_its_machine_is_terminated(
    served: Served, agent: Agent, api: Any, tmp_path: Path, planned: bool
) -> None:
    """Wait until the revoked machine is terminated or its name no longer planned, then register its Node again.

    Refused by: the API server, by an admission policy that lists the machine until it has a successor.
    Seen in: the audit log: `is replaced or revoked`.
    """
    own = joined(served, agent, "web-1", tmp_path)
    revoke(api, "web-1")
    agent.round()
    until(lambda: refused(served, own, LEASES, LEASE), "the policy is in force")
    agent.account.terminate("web-1")
    if not planned:
        del agent.account.addresses["web-1"]
    agent.round()
    assert "system.node.web-1" in api.call("GET", LISTED)["data"]
    assert refused(served, own, NODES, NODE)
    logged(served, NODES)


def test_a_revoked_machine_stays_revoked_when_the_cluster_is_restored_from_before(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Wait for a restore from a snapshot that was taken before the revocation, and renew the certificate then.

    Refused by: the agent, which enters the machines of its list in the snapshot store as revoked before it judges any
    request.
    Seen in: the request: `the machine NAME is revoked`.
    """
    own = joined(served, agent, "web-1", tmp_path)
    snapshot = api.call("GET", RECORD)["data"]
    revoke(api, "web-1")
    agent.round()
    # what `mullion restore` brings back; all agents are new then
    api.call("PUT", RECORD, api.call("GET", RECORD) | {"data": snapshot})
    api.call("DELETE", LISTED)
    api.call("POST", NODES, NODE)
    agent.revoked = None
    until(lambda: not refused(served, own, f"{NODES}?dryRun=All", NODE), "the policy is not in force")
    asked = served.request(served.pem("web-1"), CLIENT, own)
    agent.round()
    assert verdict(api, asked) == ("Denied", "the machine web-1 is revoked")
    assert api.find(f"{NODES}/web-1") is None
    until(lambda: refused(served, own, LEASES, LEASE), "the policy is in force again")


def test_the_successor_of_a_revoked_machine_joins(served: Served, agent: Agent, api: Any, tmp_path: Path) -> None:
    """Not an attack: a new machine of the name is not revoked."""
    joined(served, agent, "web-1", tmp_path)
    revoke(api, "web-1")
    agent.round()
    agent.account.terminate("web-1")
    agent.account.launch("web-1", "10.20.1.5")
    agent.round()

    def registered() -> bool:
        try:
            joined(served, agent, "web-1", tmp_path)
        except AssertionError:
            return False  # the policy's list is a moment old
        return True

    until(registered, "it joins")


def test_a_replaced_machines_key_writes_nothing_beside_its_successor(
    served: Served, agent: Agent, api: Any, tmp_path: Path
) -> None:
    """Write with the key of a replaced machine, whose successor has the same user.

    Refused by: the API server from Kubernetes 1.32 on, by an admission policy that lists the certificate.
    Seen in: the audit log: `is replaced or revoked`.
    """
    if tuple(map(int, served.kubernetes.split(".")[:2])) < (1, 32):
        pytest.skip("before 1.32 the API server does not tell with which certificate a request was made")
    stolen = joined(served, agent, "web-1", tmp_path)
    agent.account.terminate("web-1")
    agent.account.launch("web-1", "10.20.1.5")
    agent.round()
    successor = joined(served, agent, "web-1", tmp_path)
    until(lambda: refused(served, stolen, LEASES, LEASE), "the policy is in force")
    logged(served, LEASES)
    answer = served.call(stolen, "DELETE", f"{NODES}/web-1")
    assert answer["code"] == 403
    assert served.call(successor, "POST", LEASES, LEASE)["kind"] == "Lease"
    asked = served.request(served.pem("web-1"), CLIENT, successor)
    agent.round()
    assert verdict(api, asked)[0] == "Approved"


READS = (f"{NODES}/web-1", "/api/v1/services", "/api/v1/namespaces/default/secrets/database", "/version")


def bound(served: Served, name: str) -> None:
    """Create a Secret, and a pod that uses it on a Node."""
    volume = {"name": "database", "secret": {"secretName": "database"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{name}", "namespace": "default"}}
    spec = {"nodeName": name, "containers": [{"name": "app", "image": "app"}], "volumes": [volume]}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "database", "namespace": "default"}}
    for document in (secret, {**pod, "spec": spec}):
        (place := served.folder / "document.json").write_text(json.dumps(document))
        served.kubectl("apply", "--filename", str(place))


def test_a_revoked_machine_reads_nothing(served: Served, with_refusals: Agent, api: Any, tmp_path: Path) -> None:
    """Read Nodes, Services and the Secrets of pods with the key of a revoked machine.

    Refused by: the API server from Kubernetes 1.32 on, by an authorizer that lists the machine, with status 500.
    Seen in: the audit log, with 500 for the Secrets; the API server's log: `Failed to make webhook authorizer request`.
    """
    own = joined(served, with_refusals, "web-1", tmp_path)
    other = joined(served, with_refusals, "web-0", tmp_path)
    bound(served, "web-1")
    until(lambda: served.status(own, READS[2]) == 200, "the Secret of its pod can be read")
    revoke(api, "web-1")
    with_refusals.round()
    with_refusals.round()
    for path in READS:
        until(lambda path=path: served.status(own, path) == 500, f"{path} is refused")
    audit.refused(served, 500, READS[2], user="system:node:web-1", says="")
    assert served.status(other, "/api/v1/services") == 200, "other machines work"
    served.kubectl("delete", "secret/database", "pod/on-web-1", "--force", "--grace-period=0", "--ignore-not-found")


def test_a_replaced_machines_key_reads_nothing_of_its_successor(
    served: Served, with_refusals: Agent, api: Any, tmp_path: Path
) -> None:
    """Read the Secrets of the successor's pods with the key of a replaced machine: both have the same user.

    Refused by: the API server from Kubernetes 1.32 on, by an authorizer that lists the certificate, with status 500.
    Seen in: the audit log, with 500 for the Secrets; the API server's log: `Failed to make webhook authorizer request`.
    """
    stolen = joined(served, with_refusals, "web-1", tmp_path)
    with_refusals.account.terminate("web-1")
    with_refusals.account.launch("web-1", "10.20.1.5")
    with_refusals.round()
    successor = joined(served, with_refusals, "web-1", tmp_path)
    bound(served, "web-1")
    with_refusals.round()
    until(lambda: served.status(stolen, READS[2]) == 500, "the Secret is refused")
    audit.refused(served, 500, READS[2], user="system:node:web-1", says="")
    until(lambda: served.status(successor, READS[2]) == 200, "its successor reads it")
    served.kubectl("delete", "secret/database", "pod/on-web-1", "--force", "--grace-period=0", "--ignore-not-found")


def test_another_form_of_a_replaced_machines_certificate_is_refused_too(
    served: Served, with_refusals: Agent, api: Any, module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """Write the certificate of a replaced machine in another form, which the authority's signature covers too.

    Refused by: the API server from Kubernetes 1.32 on, which accepts only the successor's certificates for its user: by
    an authorizer with status 500, and by an admission policy.
    Seen in: the audit log, with 500 for the Secrets; the API server's log: `Failed to make webhook authorizer request`.
    """
    joined(served, with_refusals, "web-1", tmp_path)
    forms = two_forms(served, "web-1", tmp_path)
    own(api, "web-1", module("machines").fingerprint(forms[0]["certificate"].read_text()))
    bound(served, "web-1")
    for each in forms:
        until(lambda each=each: served.status(each, READS[2]) == 200, "the API server accepts both forms")
    with_refusals.account.terminate("web-1")
    with_refusals.account.launch("web-1", "10.20.1.5")
    with_refusals.round()
    successor = joined(served, with_refusals, "web-1", tmp_path)
    bound(served, "web-1")
    for each in forms:
        until(lambda each=each: served.status(each, READS[2]) == 500, "both forms are refused")
    audit.refused(served, 500, READS[2], user="system:node:web-1", says="")
    until(lambda: served.status(successor, READS[2]) == 200, "its successor reads it")
    refusing.nobody(served)
    for each in forms:
        until(lambda each=each: refused(served, each, LEASES, LEASE), "the policy refuses both forms")
    assert served.call(successor, "POST", LEASES, LEASE)["kind"] == "Lease"
    served.kubectl("delete", "secret/database", "pod/on-web-1", "--force", "--grace-period=0", "--ignore-not-found")
