"""Only planned members that have not joined get a node's certificate."""

import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.agent.cluster import Cluster
from tests.agent.kubelets import BOOTSTRAPPER, JOINERS, SERVING, answer, ask, bootstrapper, node_user, pem, spec
from tests.cloud_init.cloud import INSTANCE

MEMBERS: dict[str, Any] = {
    name: {"name": name, "pool": "web", "address": address, "pods": None, "labels": {}, "taints": []}
    for name, address in (("web-0", "10.20.1.4"), ("web-1", "10.20.1.5"))
}
OLD, NEW = "i-00000000000000001", INSTANCE
MARK, FOREIGN = 64 * "a", 64 * "b"
ITSELF = {"present": NEW}
OTHERS = bootstrapper(machine=OLD)
NOBODYS: dict[str, Any] = BOOTSTRAPPER | {"groups": ["system:bootstrappers", JOINERS]}
RUNS = {"present": NEW, "issued": {"instance": NEW, "certificates": {MARK: 2e9}}}
HOUR = 3600.0
OWN = ["web-0", "10.20.1.4"]
PRIVATE = "ip-10-20-1-4.eu-west-1.compute.internal"
GIVEN: dict[str, Any] = {"members": MEMBERS, "members_current": True, "silent": {}, "leave": lambda name: None}
OTHER_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web-0")])
SERVER = {"signer": SERVING, **node_user("web-0")}


def used(*marks: str) -> dict[str, Any]:
    """Return a requester with web-0's certificates; the API server adds their sha256."""
    return node_user("web-0") | {
        "extra": {"authentication.kubernetes.io/credential-id": [f"X509SHA256={each}" for each in marks]}
    }


AUTHORITY = x509.BasicConstraints(ca=True, path_length=None)
USAGE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
ALL = [*spec("")["usages"], "key encipherment"]

CASES: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "a machine's own token": ("approve", spec(pem()), ITSELF, "has the name"),
    "with a key that can encipher": ("approve", spec(pem()) | {"usages": ALL}, ITSELF, "has the name"),
    "a machine that joined before": ("approve", spec(pem()), ITSELF | RUNS, "has the name"),
    "the successor of a machine": (
        *("replace", spec(pem()), ITSELF | {"issued": {"instance": OLD, "certificates": {}}}, "takes over"),
    ),
    "a token that no machine made": ("deny", spec(pem(), **NOBODYS), {"present": NEW}, "not of the machine"),
    "another machine's token": ("deny", spec(pem(), **OTHERS), ITSELF, "not of the machine"),
    "the machine's token for another name": (
        "deny",
        spec(pem(), **bootstrapper("web-1")),
        ITSELF,
        "not of the machine",
    ),
    "another machine's token, and the Node is away": (
        *("deny", spec(pem(), **OTHERS), {**RUNS, "gone": True}, "not of the machine"),
    ),
    "a planned name without a machine": ("deny", spec(pem()), {}, "no machine web-0"),
    "a name whose machine is deleted": ("deny", spec(pem(), **OTHERS), {}, "no machine web-0"),
    "a revoked machine": (
        *("deny", spec(pem()), ITSELF | {"issued": {"instance": NEW, "revoked": True}}, "is revoked"),
    ),
    "the successor of a revoked machine": (
        *("replace", spec(pem()), ITSELF | {"issued": {"instance": OLD, "revoked": True}}, "takes over"),
    ),
    "a node that renews its own": ("approve", spec(pem(), **used(MARK)), RUNS, "renews"),
    "a node with a certificate of an earlier machine": ("deny", spec(pem(), **used(FOREIGN)), RUNS, "not issued to"),
    "a node that was replaced": (
        "deny",
        spec(pem(), **used(MARK)),
        RUNS | {"present": OLD},
        "another machine has the name web-0",
    ),
    "a node that was replaced, and has no successor": (
        *("deny", spec(pem(), **used(MARK)), RUNS | {"present": ""}, "no machine"),
    ),
    "a node of before the record": ("approve", spec(pem(), **used(MARK)), {"present": NEW}, "renews"),
    "a node whose certificate may not be recorded yet": (
        *(
            "wait",
            spec(pem(), **used(MARK)),
            {"present": NEW, "issued": {"instance": NEW, "certificates": {}, "asked": ["a"]}},
        ),
        "not recorded yet",
    ),
    "a revoked node": (
        *("deny", spec(pem(), **used(MARK)), RUNS | {"issued": {"instance": NEW, "revoked": True}}, "is revoked"),
    ),
    "an old API server": ("approve", spec(pem(), **node_user("web-0")), RUNS, "renews"),
    "an old API server, and certificates of earlier machines": (
        *("deny", spec(pem(), **node_user("web-0"))),
        *(
            {"present": NEW, "issued": {"instance": NEW, "certificates": {MARK: 2e9}, "before": {FOREIGN: HOUR + 1}}},
            "can renew once",
        ),
    ),
    "an old API server, and earlier certificates have ended": (
        *("approve", spec(pem(), **node_user("web-0"))),
        *(
            {"present": NEW, "issued": {"instance": NEW, "certificates": {MARK: 2e9}, "before": {FOREIGN: HOUR}}},
            "renews",
        ),
    ),
    "a server with a certificate of an earlier machine": (
        *("deny", spec(pem(names=OWN), SERVING, **used(FOREIGN)), RUNS, "not issued to"),
    ),
    "a server of a machine that was replaced": (
        *("deny", spec(pem(names=OWN), SERVING, **used(MARK)), RUNS | {"present": OLD}, "another machine has the name"),
    ),
    "a node for another's name": ("deny", spec(pem(), **node_user("web-1")), RUNS, "neither"),
    "a node that is no member any more": (
        *("deny", spec(pem("system:node:old-0"), **node_user("old-0")), RUNS, "no planned member"),
    ),
    "a name that is not planned": ("deny", spec(pem("system:node:evil")), RUNS, "evil is no planned member"),
    "an administrator by organization": ("deny", spec(pem(organization="system:masters")), RUNS, "subject"),
    "both organizations": ("deny", spec(pem(organization=["system:nodes", "system:masters"])), RUNS, "subject"),
    "two common names": ("deny", spec(pem(["system:node:web-0", "kubernetes-admin"])), RUNS, "subject"),
    "no node's name": ("deny", spec(pem("web-0")), RUNS, "subject"),
    "an empty name": ("deny", spec(pem("system:node:")), RUNS, "subject"),
    "a name that continues": ("deny", spec(pem("system:node:web-0,O=system:masters")), RUNS, "no planned member"),
    "a user in the bootstrappers' group only by name": (
        *("deny", spec(pem(), username="system:bootstrap:abcdef", groups=["system:authenticated"]), RUNS, "neither"),
    ),
    "a user that is no token": (
        *("deny", spec(pem(), username="mallory", groups=BOOTSTRAPPER["groups"]), RUNS, "neither"),
    ),
    "a node's name without the nodes' group": (
        *("deny", spec(pem(), username="system:node:web-0", groups=["system:authenticated"]), RUNS, "neither"),
    ),
    "a client with names": ("deny", spec(pem(names=OWN)), RUNS, "no subjectAltName"),
    "a client that may serve too": (
        *("deny", spec(pem()) | {"usages": ["client auth", "digital signature", "server auth"]}, RUNS, "usages"),
    ),
    "a client without client auth": ("deny", spec(pem()) | {"usages": ["digital signature"]}, RUNS, "usages"),
    "an authority": ("deny", spec(pem(extra=AUTHORITY)), RUNS, "extension other than"),
    "a usage in the request": ("deny", spec(pem(extra=USAGE)), RUNS, "extension other than"),
    "names and one more extension": ("deny", spec(pem(names=OWN, extra=USAGE), **SERVER), RUNS, "cannot be parsed"),
    "its own server": ("approve", spec(pem(names=OWN), **SERVER), RUNS, "its own name and address"),
    "its own server by address alone": ("approve", spec(pem(names=["10.20.1.4"]), **SERVER), RUNS, "its own"),
    "its own server by names of the cloud": (
        *("approve", spec(pem(names=[*OWN, PRIVATE]), **SERVER), RUNS | {"names": frozenset({PRIVATE})}, "its own"),
    ),
    "a server with a name that the cloud gives to another": (
        *("deny", spec(pem(names=[*OWN, PRIVATE]), **SERVER), RUNS | {"names": frozenset({"ip-10-20-1-5"})}, "ip-10-"),
    ),
    "a server with a foreign address": (
        *("deny", spec(pem(names=[*OWN, "10.20.1.5"]), **SERVER), RUNS, "for 10.20.1.5"),
    ),
    "a server with a service's name": (
        *("deny", spec(pem(names=[*OWN, "kubernetes.default.svc"]), **SERVER), RUNS, "for kubernetes.default.svc"),
    ),
    "a server with two names in one": (
        *("deny", spec(pem(names=["web-0, DNS:kubernetes"]), **SERVER), RUNS, "for web-0, DNS:kubernetes"),
    ),
    "a server without names": ("deny", spec(pem(), **SERVER), RUNS, "for nothing"),
    "a server with an address of version 6": ("deny", spec(pem(names=[*OWN, "::1"]), **SERVER), RUNS, "IPv4"),
    "a server with another kind of name": (
        *("deny", spec(pem(names=[x509.DirectoryName(OTHER_NAME)]), **SERVER), RUNS, "DNS names and IPv4"),
    ),
    "a server asked for by another node": (
        *("deny", spec(pem(names=OWN), SERVING, **node_user("web-1")), RUNS, "only system:node:web-0"),
    ),
    "a server asked for by a bootstrapper": ("deny", spec(pem(names=OWN), SERVING), RUNS, "only system:node:web-0"),
    "no request at all": ("deny", spec("-----BEGIN X-----"), RUNS, "not one PEM block"),
    "a request with something after it": ("deny", spec(pem() + pem("kubernetes-admin")), RUNS, "not one PEM block"),
    "a torn request": ("deny", spec(pem()[:200] + pem()[-38:]), RUNS, "cannot be parsed"),
}


@pytest.mark.parametrize(("action", "asked", "known", "reason"), CASES.values(), ids=CASES)
def test_a_request_is_judged_by_machine_name_group_usages_and_subject(
    module: Callable[[str], ModuleType], action: str, asked: dict[str, Any], known: dict[str, Any], reason: str
) -> None:
    """CP-05: only the present machine of a planned member, and only its own name."""
    signing = module("signing")
    issued = module("machines").Issued(**known.get("issued", {}))
    verdict = signing.decide(asked, MEMBERS, signing.Known(**known | {"issued": issued}), HOUR)
    assert verdict.action == action, verdict.reason
    assert reason in verdict.reason
    assert not re.search("i-0", verdict.reason), "nodes can read the reasons of other nodes' requests"


def seen(module: Callable[[str], ModuleType], run: Any, cluster: Cluster, **changes: Any) -> Any:
    """Return the state of one round."""
    return module("seen").Seen(run, cluster, **(GIVEN | changes))


def test_requests_are_answered_once_and_those_for_other_signers_are_ignored(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    ask(cluster, "good", spec(pem()))
    ask(cluster, "bad", spec(pem("system:node:evil")))
    ask(cluster, "anothers", spec(pem("system:node:web-1")))
    ask(cluster, "users", spec(pem("jane", "team"), signer="kubernetes.io/kube-apiserver-client", username="jane"))
    signing = module("signing")
    for _ in range(2):
        signing.reconcile(seen(module, run, cluster))
    assert {name: answer(cluster, name) for name in ("good", "bad", "anothers", "users")} == {
        "good": "Approved",
        "bad": "Denied",
        "anothers": "Denied",
        "users": "",
    }
    approvals = [each for each in cluster.asked if "/approval" in each]
    assert len(approvals) == 3


def test_the_cloud_is_asked_for_a_machines_names_only_if_a_request_has_more_than_the_planned_ones(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloud controller adds the instance's names to the Node, and the kubelet asks for all of them."""
    asked = list[str]()
    compute = module("machines").compute
    monkeypatch.setattr(compute, "names", lambda _, machine: asked.append(machine) or frozenset({PRIVATE}))
    ask(cluster, "planned", spec(pem(names=OWN), **SERVER))
    module("signing").reconcile(seen(module, run, cluster))
    assert (answer(cluster, "planned"), asked) == ("Approved", [])
    ask(cluster, "more", spec(pem(names=[*OWN, PRIVATE]), **SERVER))
    ask(cluster, "foreign", spec(pem(names=[*OWN, "kubernetes"]), **SERVER))
    module("signing").reconcile(seen(module, run, cluster))
    ask(cluster, "anothers", spec(pem("system:node:web-1", names=["web-1", PRIVATE]), **SERVER))
    module("signing").reconcile(seen(module, run, cluster))
    answers = [answer(cluster, each) for each in ("more", "foreign", "anothers")]
    assert (answers, asked) == (["Approved", "Denied", "Denied"], [INSTANCE])


def test_no_request_is_denied_by_a_list_that_may_be_old(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    ask(cluster, "planned", spec(pem()))
    ask(cluster, "planned-a-moment-ago", spec(pem("system:node:web-2")))
    module("signing").reconcile(seen(module, run, cluster, members_current=False))
    assert (answer(cluster, "planned"), answer(cluster, "planned-a-moment-ago")) == ("Approved", "")
    cluster.asked.clear()
    module("signing").reconcile(seen(module, run, cluster, members=None))
    assert not cluster.asked, "without any list all wait"


def test_the_node_of_a_deleted_machine_is_removed_when_its_successor_joins(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Node still cordoned from the drain of its old machine would keep the new one out of service."""
    gone = {INSTANCE: False}
    monkeypatch.setattr(module("seen").compute, "gone", lambda _, instance: gone[instance])
    cluster.node("web-0", ready=False, instance=INSTANCE, spec={"unschedulable": True})
    ask(cluster, "again", spec(pem()))
    module("signing").reconcile(seen(module, run, cluster))
    assert answer(cluster, "again") == "Approved"
    assert cluster.find("/api/v1/nodes/web-0"), "the same machine joins again: its Node stays"
    gone[INSTANCE] = True
    ask(cluster, "new", spec(pem()))
    module("signing").reconcile(seen(module, run, cluster))
    assert answer(cluster, "new") == "Approved"
    assert cluster.find("/api/v1/nodes/web-0") is None


def test_a_request_that_cannot_be_judged_does_not_stop_the_others(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = importlib.import_module("failure").Failure

    def silent(*_: Any) -> bool:
        raise failure("store-failed", "the cloud does not answer")

    monkeypatch.setattr(module("seen").compute, "gone", silent)
    cluster.node("web-0", ready=False, instance=INSTANCE)
    ask(cluster, "a", spec(pem()))
    ask(cluster, "b", spec(pem("system:node:web-1")))
    with pytest.raises(RuntimeError, match="a: the cloud does not answer"):
        module("signing").reconcile(seen(module, run, cluster))
    assert (answer(cluster, "a"), answer(cluster, "b")) == ("", "Denied")


def test_no_other_controller_approves_requests(module: Callable[[str], ModuleType], cluster: Cluster) -> None:
    """kubeadm's bindings for bootstrappers and renewals are deleted, again after each upgrade; others stay."""
    folder = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    for name in (*module("signing").AUTOMATIC, "kubeadm:kubelet-bootstrap"):
        cluster.add(folder, name)
    module("signing").close(cluster)
    module("signing").close(cluster)
    assert list(cluster.objects) == [f"{folder}/kubeadm:kubelet-bootstrap"]
