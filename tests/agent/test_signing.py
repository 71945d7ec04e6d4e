"""Only planned members that have not joined get a node's certificate."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.agent.cluster import Cluster
from tests.agent.kubelets import BOOTSTRAPPER, SERVING, answer, ask, node_user, pem, spec
from tests.cloud_init.cloud import INSTANCE

MEMBERS: dict[str, Any] = {
    name: {"name": name, "pool": "web", "address": address, "pods": None, "labels": {}, "taints": []}
    for name, address in (("web-0", "10.20.1.4"), ("web-1", "10.20.1.5"))
}
READY, SILENT = ({"status": {"conditions": [{"type": "Ready", "status": each}]}} for each in ("True", "Unknown"))
OWN = ["web-0", "10.20.1.4"]
GIVEN: dict[str, Any] = {"members": MEMBERS, "members_current": True, "unready": {}, "leave": lambda name: None}
OTHER_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web-0")])
SERVER = {"signer": SERVING, **node_user("web-0")}
AUTHORITY = x509.BasicConstraints(ca=True, path_length=None)
USAGE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
ALL = [*spec("")["usages"], "key encipherment"]

CASES: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "a bootstrapper for a member that has no node": ("approve", spec(pem()), None, "no Node yet"),
    "with a key that can encipher": ("approve", spec(pem()) | {"usages": ALL}, None, "no Node yet"),
    "a bootstrapper for a member that is silent": ("approve", spec(pem()), SILENT, "not Ready"),
    "a bootstrapper for a member that is ready": ("wait", spec(pem()), READY, "another machine uses the name"),
    "a node that renews its own": ("approve", spec(pem(), **node_user("web-0")), READY, "renews"),
    "a node for another's name": ("deny", spec(pem(), **node_user("web-1")), None, "neither"),
    "a node that is no member any more": (
        *("deny", spec(pem("system:node:old-0"), **node_user("old-0")), READY, "no planned member"),
    ),
    "a name that is not planned": ("deny", spec(pem("system:node:evil")), None, "evil is no planned member"),
    "an administrator by organization": ("deny", spec(pem(organization="system:masters")), None, "subject"),
    "both organizations": ("deny", spec(pem(organization=["system:nodes", "system:masters"])), None, "subject"),
    "two common names": ("deny", spec(pem(["system:node:web-0", "kubernetes-admin"])), None, "subject"),
    "no node's name": ("deny", spec(pem("web-0")), None, "subject"),
    "an empty name": ("deny", spec(pem("system:node:")), None, "subject"),
    "a name that continues": ("deny", spec(pem("system:node:web-0,O=system:masters")), None, "no planned member"),
    "a user in the bootstrappers' group only by name": (
        *("deny", spec(pem(), username="system:bootstrap:abcdef", groups=["system:authenticated"]), None, "neither"),
    ),
    "a user that is no token": (
        *("deny", spec(pem(), username="mallory", groups=BOOTSTRAPPER["groups"]), None, "neither"),
    ),
    "a node's name without the nodes' group": (
        *("deny", spec(pem(), username="system:node:web-0", groups=["system:authenticated"]), READY, "neither"),
    ),
    "a client with names": ("deny", spec(pem(names=OWN)), None, "no subjectAltName"),
    "a client that may serve too": (
        *("deny", spec(pem()) | {"usages": ["client auth", "digital signature", "server auth"]}, None, "usages"),
    ),
    "a client without client auth": ("deny", spec(pem()) | {"usages": ["digital signature"]}, None, "usages"),
    "an authority": ("deny", spec(pem(extra=AUTHORITY)), None, "extension other than"),
    "a usage in the request": ("deny", spec(pem(extra=USAGE)), None, "extension other than"),
    "names and one more extension": ("deny", spec(pem(names=OWN, extra=USAGE), **SERVER), READY, "cannot be parsed"),
    "its own server": ("approve", spec(pem(names=OWN), **SERVER), READY, "its own name and address"),
    "its own server by address alone": ("approve", spec(pem(names=["10.20.1.4"]), **SERVER), READY, "its own"),
    "a server with a foreign address": (
        *("deny", spec(pem(names=[*OWN, "10.20.1.5"]), **SERVER), READY, "for 10.20.1.5"),
    ),
    "a server with a service's name": (
        *("deny", spec(pem(names=[*OWN, "kubernetes.default.svc"]), **SERVER), READY, "for kubernetes.default.svc"),
    ),
    "a server with two names in one": (
        *("deny", spec(pem(names=["web-0, DNS:kubernetes"]), **SERVER), READY, "for web-0, DNS:kubernetes"),
    ),
    "a server without names": ("deny", spec(pem(), **SERVER), READY, "for nothing"),
    "a server with an address of version 6": ("deny", spec(pem(names=[*OWN, "::1"]), **SERVER), READY, "IPv4"),
    "a server with another kind of name": (
        *("deny", spec(pem(names=[x509.DirectoryName(OTHER_NAME)]), **SERVER), READY, "DNS names and IPv4"),
    ),
    "a server asked for by another node": (
        *("deny", spec(pem(names=OWN), SERVING, **node_user("web-1")), READY, "only system:node:web-0"),
    ),
    "a server asked for by a bootstrapper": ("deny", spec(pem(names=OWN), SERVING), None, "only system:node:web-0"),
    "no request at all": ("deny", spec("-----BEGIN X-----"), None, "not one PEM block"),
    "a request with something after it": ("deny", spec(pem() + pem("kubernetes-admin")), None, "not one PEM block"),
    "a torn request": ("deny", spec(pem()[:200] + pem()[-38:]), None, "cannot be parsed"),
}


@pytest.mark.parametrize(("action", "asked", "node", "reason"), CASES.values(), ids=CASES)
def test_a_request_is_judged_by_name_group_usages_and_subject(
    module: Callable[[str], ModuleType], action: str, asked: dict[str, Any], node: Any, reason: str
) -> None:
    """CP-05, design 4: only planned members that are missing or not Ready, and only their own names."""
    verdict = module("signing").decide(asked, MEMBERS, node, machine_gone=False)
    assert verdict.action == action, verdict.reason
    assert reason in verdict.reason


def seen(module: Callable[[str], ModuleType], run: Any, cluster: Cluster, **changes: Any) -> Any:
    """Return the state of one round."""
    return module("seen").Seen(run, cluster, **(GIVEN | changes))


def test_requests_are_answered_once_and_those_for_other_signers_are_ignored(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    ask(cluster, "good", spec(pem()))
    ask(cluster, "bad", spec(pem("system:node:evil")))
    ask(cluster, "users", spec(pem("jane", "team"), signer="kubernetes.io/kube-apiserver-client", username="jane"))
    signing = module("signing")
    for _ in range(2):
        signing.reconcile(seen(module, run, cluster))
    assert {name: answer(cluster, name) for name in ("good", "bad", "users")} == {
        "good": "Approved",
        "bad": "Denied",
        "users": "",
    }
    assert len(cluster.asked) == 2


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
    assert (answer(cluster, "a"), answer(cluster, "b")) == ("", "Approved")


def test_no_other_controller_approves_requests(module: Callable[[str], ModuleType], cluster: Cluster) -> None:
    """kubeadm's bindings for bootstrappers and renewals are deleted, again after each upgrade; others stay."""
    folder = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    for name in (*module("signing").AUTOMATIC, "kubeadm:kubelet-bootstrap"):
        cluster.add(folder, name)
    module("signing").close(cluster)
    module("signing").close(cluster)
    assert list(cluster.objects) == [f"{folder}/kubeadm:kubelet-bootstrap"]
