"""kubeadm's own CoreDNS on a real API server: one of its pods leaves the founder."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.awaited import until
from tests.lab.agent.served import Served
from tests.lab.agent.test_agent import round_of

pytestmark = pytest.mark.lab

PODS = "/api/v1/namespaces/kube-system/pods"
MERGE = "application/merge-patch+json"
READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
NODES = ("control-plane-0", "linux-0")


@pytest.fixture
def coredns(served: Served, api: Any) -> Iterator[list[str]]:
    """Run both pods of kubeadm's Deployment on the founder; another Node is Ready. Return the pods' names."""
    served.kubeadm(
        *("init", "phase", "addon", "coredns", "--config", str(served.config)),
        *("--kubeconfig", str(served.administrator)),
    )
    for name in NODES:
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}}})
        api.call("PATCH", f"/api/v1/nodes/{name}/status", READY, MERGE)
    names = until(lambda: sorted(pods(api)) if len(pods(api)) == 2 else None, "the Deployment has its pods")
    for name in names:
        target = {"apiVersion": "v1", "kind": "Node", "name": NODES[0]}
        api.call("POST", f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})
        api.call("PATCH", f"{PODS}/{name}/status", READY, MERGE)
    yield names
    for name in NODES:
        api.call("DELETE", f"/api/v1/nodes/{name}")
    served.kubectl("delete", "--namespace", "kube-system", "deployment/coredns", "service/kube-dns")
    served.kubectl("delete", "--namespace", "kube-system", "pods", "--selector", "k8s-app=kube-dns", "--force")


def pods(api: Any) -> dict[str, str]:
    """Return the Node of each pod of CoreDNS that stays; empty for one that no scheduler has placed."""
    items = api.call("GET", f"{PODS}?labelSelector=k8s-app%3Dkube-dns")["items"]
    return {
        pod["metadata"]["name"]: pod["spec"].get("nodeName", "")
        for pod in items
        if "deletionTimestamp" not in pod["metadata"]
    }


def test_a_pod_of_kubeadms_coredns_is_placed_anew_once_another_node_is_ready(
    coredns: list[str], api: Any, module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module("dns"), "SETTLED", 0.0)
    monkeypatch.setattr(module("dns"), "NODES_EACH", 10**6)  # other tests leave Nodes
    until(lambda: not api.call("GET", "/api/v1/nodes/linux-0")["spec"].get("taints"), "the Node has no taint")
    module("dns").reconcile(round_of(module, run, api))
    after = until(lambda: found if len(found := pods(api)) == 2 else None, "the Deployment replaces the pod")
    assert len({*coredns} & set(after)) == 1
    module("dns").reconcile(round_of(module, run, api))
    assert pods(api) == after, "the new pod is not ready yet"
