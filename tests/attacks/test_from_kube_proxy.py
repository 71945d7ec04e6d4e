"""From kube-proxy's account: root on a worker takes the token of the kube-proxy pod there.

The rights are Kubernetes' own, of the ClusterRole `system:node-proxier`, as kubeadm binds them.
"""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.attacks import audit
from tests.awaited import until
from tests.lab.agent.served import Served

pytestmark = pytest.mark.lab

ACCOUNT = "system:serviceaccount:kube-system:kube-proxy"
READABLE = {
    *("nodes", "services", "endpoints", "endpointslices.discovery.k8s.io", "servicecidrs.networking.k8s.io"),
    "clustertrustbundles.certificates.k8s.io",
}
"""What kube-proxy watches, and certificates of authorities, which every ServiceAccount may read
(kubernetes/kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go)."""
WRITABLE = {"events", "events.events.k8s.io"}
ABOUT_ITSELF = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
"""Questions of every account about its own rights; they write nothing (role system:basic-user)."""
WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
REFUSED = 403
OBJECT = "thief"


class Resource:
    """A resource of the API: its name with its group, and the paths of a list and of one object."""

    def __init__(self, group: str, version: str, named: dict[str, Any]) -> None:
        self.verbs, plural = frozenset(named["verbs"]), named["name"]
        self.plain, _, sub = plural.partition("/")
        self.name = plural if not group else f"{self.plain}.{group}" + (f"/{sub}" if sub else "")
        begin = f"/apis/{group}/{version}" if group else f"/api/{version}"
        self.list = f"{begin}{'/namespaces/kube-system' if named['namespaced'] else ''}/{self.plain}"
        self.object = f"{self.list}/{OBJECT}" + (f"/{sub}" if sub else "")
        self.is_sub = bool(sub)


@pytest.fixture(scope="module")
def resources(served: Served) -> tuple[Resource, ...]:
    """Return all resources that the API server serves, with subresources."""
    groups = [("", "v1")]
    for group in json.loads(served.kubectl("get", "--raw", "/apis"))["groups"]:
        groups += [(group["name"], each["version"]) for each in group["versions"]]
    found = list[Resource]()
    for group, version in groups:
        place = f"/apis/{group}/{version}" if group else f"/api/{version}"
        listed = json.loads(served.kubectl("get", "--raw", place))["resources"]
        found += [Resource(group, version, each) for each in listed]
    assert {"secrets", "pods/exec", "serviceaccounts/token", "nodes/proxy"} <= {each.name for each in found}
    return tuple(found)


class Asked:
    """Requests with kube-proxy's token over one connection: there are some hundred."""

    def __init__(self, served: Served, token: str) -> None:
        context = ssl.create_default_context(cafile=str(served.pki / "ca.crt"))
        self.connection = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=60, context=context)
        self.headers = {"Authorization": f"Bearer {token}"}

    def __call__(self, method: str, path: str) -> int:
        """Return the status of a request. Writes are dry runs, which need the same rights."""
        body = json.dumps({"metadata": {"name": OBJECT}}) if method in ("POST", "PUT", "PATCH") else None
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        dry = "" if method == "GET" else "?dryRun=All"
        self.connection.request(method, f"{path}{dry}", body, {**self.headers, "Content-Type": kind})
        with self.connection.getresponse() as answer:
            answer.read()
            return answer.status


@pytest.fixture(scope="module")
def asked(served: Served) -> Iterator[Asked]:
    """Return requests with the token of a kube-proxy pod, with the rights that kubeadm gives it."""
    words = ("init", "phase", "addon", "kube-proxy", "--config", str(served.config))
    served.kubeadm(*words, "--kubeconfig", str(served.administrator))
    made = served.kubectl("create", "token", "kube-proxy", "-n", "kube-system").strip()
    requests = Asked(served, made)
    with closing(requests.connection):
        until(lambda: requests("GET", "/api/v1/nodes") == 200, "its rights hold")
        yield requests
    served.kubectl("delete", "daemonset", "kube-proxy", "-n", "kube-system", "--wait=false")


def test_kube_proxys_token_writes_events_alone(served: Served, asked: Asked, resources: tuple[Resource, ...]) -> None:
    """Create, change or delete objects with the token of a kube-proxy pod: pods, Nodes, Services, tokens, bindings.

    Refused by: the API server, by kubeadm's binding to the role system:node-proxier, which writes Events alone.
    Seen in: the audit log, with 403 and kube-proxy's account.
    """
    passed, tried = set[str](), set[str]()
    for each in resources:
        for method, verb in WRITES.items():
            if verb not in each.verbs or each.plain in ABOUT_ITSELF:
                continue
            path = each.list if method == "POST" and not each.is_sub else each.object
            tried.add(each.name)
            if asked(method, path) != REFUSED:
                passed.add(each.name)
        if "deletecollection" in each.verbs and asked("DELETE", each.list) != REFUSED:
            passed.add(each.name)
    assert passed == WRITABLE
    assert {
        "pods",
        "nodes/status",
        "services",
        "serviceaccounts/token",
        "certificatesigningrequests.certificates.k8s.io",
    } <= tried
    audit.refused(served, REFUSED, "/api/v1/nodes/thief", user=ACCOUNT, says='cannot patch resource "nodes"')


def test_kube_proxys_token_reads_no_secret(served: Served, asked: Asked, resources: tuple[Resource, ...]) -> None:
    """Read Secrets, ConfigMaps, pods, logs or a kubelet's interface with the token of a kube-proxy pod.

    Refused by: the API server, by the role system:node-proxier, which reads Nodes, Services and their endpoints.
    Seen in: the audit log, with 403 and kube-proxy's account.
    """
    passed = set[str]()
    for each in resources:
        places = [each.list] if "list" in each.verbs and not each.is_sub else []
        places += [each.object] if "get" in each.verbs else []
        if any(asked("GET", place) != REFUSED for place in places):
            passed.add(each.name)
    assert passed <= READABLE, passed
    assert {"nodes", "services"} <= passed
    audit.refused(
        served, REFUSED, "/api/v1/namespaces/kube-system/secrets", user=ACCOUNT, says='cannot list resource "secrets"'
    )
