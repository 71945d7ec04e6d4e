"""`mullion upgrade --check` against a real API server: each finding, and that the API does what the finding says."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from components import releases
from components.machine.pki import KeyPair
from components.releases import minor
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused
from operations.__main__ import app
from operations.commands import up_and_down, versions
from operations.verification.upgrading import check
from operations.verification.upgrading.findings import Finding
from tests import clones
from tests.awaited import until
from tests.lab.agent.served import Served
from tests.operations.conftest import STACK

pytestmark = pytest.mark.lab

PLACE = "preflight"
PODS = f"/api/v1/namespaces/{PLACE}/pods"
STATUS = "application/strategic-merge-patch+json"
REMOVED = {"1.37": ("resource.k8s.io/v1beta1", "deviceclasses", "1.38.0")}
"""By minor: an API that the next minor removes, one of its resources, and a version of that minor (k8s.io/api,
zz_generated.prerelease-lifecycle.go)."""


@pytest.fixture
def administrator(served: Served) -> KubernetesApi:
    """Return the API as `mullion` calls it."""
    document = yaml.safe_load(Path(served.administrator).read_text())
    user = document["users"][0]["user"]

    def pem(text: str) -> str:
        return base64.b64decode(text).decode()

    pair: KeyPair = {"certificate": pem(user["client-certificate-data"]), "key": pem(user["client-key-data"])}
    authority = pem(document["clusters"][0]["cluster"]["certificate-authority-data"])
    return KubernetesApi(Access(served.url, "127.0.0.1", authority, pair))


@pytest.fixture
def namespace(administrator: KubernetesApi) -> Iterator[KubernetesApi]:
    """Yield the API with an empty namespace; what the test made is removed."""
    administrator.ask("POST", "/api/v1/namespaces", {"metadata": {"name": PLACE}})
    account = f"/api/v1/namespaces/{PLACE}/serviceaccounts/default"
    until(lambda: found(administrator, account), "the namespace has its account")
    yield administrator
    for pod in administrator.ask("GET", PODS)["items"]:
        administrator.ask("DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    administrator.ask("DELETE", f"/api/v1/namespaces/{PLACE}")
    until(lambda: not found(administrator, f"/api/v1/namespaces/{PLACE}"), "the namespace is gone")


def found(api: KubernetesApi, path: str) -> Any:
    """Return the object at a path; None if there is none."""
    try:
        return api.ask("GET", path)
    except Refused as error:
        if error.status != 404:
            raise
        return None


def asked(api: KubernetesApi, wanted: str, about: str, subject: str) -> list[Finding]:
    """Return the findings about a subject."""
    return [each for each in check.ask(api, wanted) if each.about == about and subject in each.subject]


def pod(api: KubernetesApi, name: str, **labels: str) -> None:
    """Create a pod, and report it as running and ready, as its kubelet would."""
    metadata = {"name": name, "labels": labels}
    api.ask("POST", PODS, {"metadata": metadata, "spec": {"containers": [{"name": "one", "image": "none"}]}})
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    api.ask("PATCH", f"{PODS}/{name}/status", {"status": ready}, STATUS)


def budget(api: KubernetesApi, name: str, spec: dict[str, Any]) -> None:
    """Create a PodDisruptionBudget, and wait until its controller has counted."""
    path = f"/apis/policy/v1/namespaces/{PLACE}/poddisruptionbudgets"
    api.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    until(
        lambda: api.ask("GET", f"{path}/{name}").get("status", {}).get("observedGeneration"), "the budget is computed"
    )


def evicted(api: KubernetesApi, name: str) -> int:
    """Ask the API to evict a pod; return its status."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": PLACE}}
    try:
        api.ask("POST", f"{PODS}/{name}/eviction", body)
    except Refused as error:
        return error.status
    return 201


def test_a_budget_that_forbids_each_eviction_stops_the_upgrade_and_another_does_not(
    namespace: KubernetesApi, kubernetes: str
) -> None:
    for name in ("web-0", "web-1"):
        pod(namespace, name, app="web")
    pod(namespace, "db-0", app="db")
    pod(namespace, "bare-0", app="bare")
    budget(namespace, "loose", {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    budget(namespace, "strict", {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}})
    budget(namespace, "percent", {"minAvailable": "50%", "selector": {"matchLabels": {"app": "bare"}}})
    (strict,) = until(lambda: asked(namespace, kubernetes, "budgets", f"{PLACE}/strict"), "its pods are counted")
    assert (strict.stops, "it needs 1 of its 1 pods" in strict.says) == (True, True), strict
    (percent,) = until(lambda: asked(namespace, kubernetes, "budgets", f"{PLACE}/percent"), "it is computed")
    assert "counts none of its 1 pods" in percent.says
    assert until(lambda: not asked(namespace, kubernetes, "budgets", f"{PLACE}/loose"), "its pods are counted")
    assert [evicted(namespace, name) for name in ("db-0", "bare-0", "web-0")] == [429, 429, 201]


def test_two_budgets_of_one_pod_stop_the_upgrade(namespace: KubernetesApi, kubernetes: str) -> None:
    for name in ("web-0", "web-1", "web-2"):
        pod(namespace, name, app="web")
    budget(namespace, "one", {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    either = [{"key": "app", "operator": "In", "values": ["web", "api"]}]
    budget(namespace, "two", {"minAvailable": 1, "selector": {"matchExpressions": either}})
    shared = [each for each in asked(namespace, kubernetes, "budgets", PLACE) if "two budgets" in each.says]
    assert [each.stops for each in shared] == [True]
    assert evicted(namespace, "web-0") == 500


def webhook(api: KubernetesApi, name: str, resources: list[str], **more: Any) -> str:
    """Register a webhook whose Service is PLACE/NAME; return its path."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources}]
    client = {"service": {"namespace": PLACE, "name": name}}
    hook = {"name": f"{name}.example.com", "clientConfig": client, "rules": rules, "sideEffects": "None"}
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    own = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": PLACE}}}
    hooks = [hook | {"admissionReviewVersions": ["v1"]} | own | more]
    api.ask("POST", path, {"metadata": {"name": name}, "webhooks": hooks})
    return f"{path}/{name}"


def endpoints(api: KubernetesApi, name: str, *nodes: str) -> None:
    """Write an EndpointSlice with a ready endpoint on each node."""
    ready = [
        {"addresses": [f"192.0.2.{10 + nth}"], "nodeName": node, "conditions": {"ready": True}}
        for nth, node in enumerate(nodes)
    ]
    document = {"metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}}, "addressType": "IPv4"}
    path = f"/apis/discovery.k8s.io/v1/namespaces/{PLACE}/endpointslices"
    api.ask("POST", path, {**document, "endpoints": ready, "ports": [{"port": 443, "protocol": "TCP"}]})


def test_a_webhook_without_an_endpoint_refuses_what_it_matches(namespace: KubernetesApi, kubernetes: str) -> None:
    def created() -> int:
        try:
            namespace.ask("POST", f"/api/v1/namespaces/{PLACE}/configmaps", {"metadata": {"generateName": "x-"}})
        except Refused as error:
            return error.status
        return 201

    assert created() == 201
    path = webhook(namespace, "gone", ["configmaps"])
    try:
        until(lambda: created() == 500, "the API calls the webhook")
        (one,) = asked(namespace, kubernetes, "webhooks", "gone.example.com")
        assert (one.stops, f"Service {PLACE}/gone has no ready endpoint" in one.says) == (True, True)
    finally:
        namespace.ask("DELETE", path)
    assert asked(namespace, kubernetes, "webhooks", "gone.example.com") == []


@pytest.mark.parametrize(
    ("nodes", "more", "stops"),
    [
        (("web-0",), {}, [True]),
        (("web-0",), {"objectSelector": {"matchLabels": {"a": "b"}}}, [False]),
        (("web-0", "web-1"), {}, []),
        (("web-0", "web-1"), {"namespaceSelector": {}}, [False]),
        (("web-0",), {"failurePolicy": "Ignore"}, []),
    ],
)
def test_a_webhook_that_admits_its_own_pods_needs_two_nodes(
    namespace: KubernetesApi, kubernetes: str, nodes: tuple[str, ...], more: dict[str, Any], stops: list[bool]
) -> None:
    endpoints(namespace, "guard", *nodes)
    path = webhook(namespace, "guard", ["*"], **more)
    try:
        assert [each.stops for each in asked(namespace, kubernetes, "webhooks", "guard.example.com")] == stops
    finally:
        namespace.ask("DELETE", path)


def test_an_api_in_use_that_the_new_version_removes_stops_the_upgrade(
    administrator: KubernetesApi, kubernetes: str
) -> None:
    if minor(kubernetes) not in REMOVED:
        pytest.skip(f"no API of {kubernetes} is known here that the next minor removes")
    group, resource, wanted = REMOVED[minor(kubernetes)]
    if not found(administrator, f"/apis/{group}"):
        pytest.skip(f"{group} is not served")
    assert asked(administrator, wanted, "deprecated-apis", resource) == []
    administrator.ask("GET", f"/apis/{group}/{resource}")
    (one,) = asked(administrator, wanted, "deprecated-apis", resource)
    assert (one.subject, one.stops, "1.38 removes it" in one.says) == (f"{resource} of {group}", True, True)
    assert asked(administrator, kubernetes, "deprecated-apis", resource) == []


def test_an_old_kubelet_and_a_lost_control_plane_stop_the_upgrade(
    administrator: KubernetesApi, kubernetes: str
) -> None:
    old = {"nodeInfo": {"kubeletVersion": "v1.20.4-eks-1"}}
    plane = {"node-role.kubernetes.io/control-plane": ""}
    for name, labels in (("web-9", {}), ("control-plane-9", plane)):
        administrator.ask("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    administrator.ask("PATCH", "/api/v1/nodes/web-9/status", {"status": old}, STATUS)
    try:
        about = {(each.about, each.stops) for each in check.ask(administrator, kubernetes) if "web-9" in each.subject}
        assert about == {("nodes", False), ("skew", True)}
        lost = {(each.about, each.stops) for each in check.ask(administrator, kubernetes) if "plane-9" in each.subject}
        assert lost >= {("nodes", True), ("etcd", True), ("disk", False)}
    finally:
        for name in ("web-9", "control-plane-9"):
            administrator.ask("DELETE", f"/api/v1/nodes/{name}")


def test_an_upgrade_asks_the_real_api_and_goes_on_only_if_told_to(
    namespace: KubernetesApi,
    kubernetes: str,
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mullion(*words: str) -> Result:
        return CliRunner().invoke(app, words)

    started = list[str]()
    monkeypatch.setattr(up_and_down, "up", lambda name, **_: started.append(name))
    minors = releases.supported_minors()
    before = versions.newest(minors[minors.index(minor(kubernetes)) - 1])
    file = tmp_path / "stacks" / "Pulumi.small.yaml"
    clones.write(tmp_path, "small", STACK.replace("1.36.4", before))
    clones.work_in(tmp_path, monkeypatch)
    words = ("upgrade", "small", kubernetes, "--yes", "--kubeconfig", str(served.administrator))
    pod(namespace, "db-0", app="db")
    budget(namespace, "strict", {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}})
    until(lambda: asked(namespace, kubernetes, "budgets", f"{PLACE}/strict"), "its pods are counted")
    refused = mullion(*words)
    assert (refused.exit_code, started) == (3, []), refused.output
    assert f"PodDisruptionBudget {PLACE}/strict" in refused.stdout
    assert "--ignore-preflight-errors budgets" in refused.stderr
    assert kubernetes not in file.read_text()
    ignored = mullion(*words, "--ignore-preflight-errors", "budgets")
    assert (ignored.exit_code, started) == (0, ["small"]), ignored.output
    assert "warning" in ignored.stdout
    assert kubernetes in file.read_text()
