"""The administrator's calls to a real API server: drains, and the WebSockets of `mullion verify`."""

import asyncio
from typing import Any

import pytest

from components.rollout.drain import Undrained, drain
from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused, ready_nodes
from operations.commands import reached_api
from operations.verification import streams
from tests.awaited import until
from tests.lab.agent.served import Served

pytestmark = pytest.mark.lab

NODE = "drained-0"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def api(served: Served) -> KubernetesApi:
    """Return the API client of gates and commands, with kubeadm's kubeconfig."""
    client = reached_api.client(served.administrator.read_text())
    until(lambda: client.ask("GET", "/api/v1/namespaces/default/serviceaccounts")["items"], "the default account")
    return client


def pod(name: str) -> dict[str, Any]:
    """Return a pod on the node that is deleted as soon as it is evicted: no kubelet has to end it."""
    spec = {
        "nodeName": NODE,
        "containers": [{"name": "a", "image": "busybox"}],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
    }
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_drain_cordons_a_node_and_evicts_its_pods_within_their_disruption_budgets(api: KubernetesApi) -> None:
    api.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    for name in ("free", "kept"):
        api.ask("POST", PODS, pod(name))
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}  # budgets ignore pending pods
        api.ask("PATCH", f"{PODS}/{name}/status", {"status": ready}, PATCH)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"}, "spec": spec}
    api.ask("POST", budgets, budget)
    until(lambda: api.ask("GET", f"{budgets}/one").get("status", {}).get("currentHealthy"), "the budget is counted")
    with pytest.raises(Undrained, match=r"default/kept \(429: Cannot evict pod as it would violate the pod's"):
        asyncio.run(drain(api, NODE, 3))
    assert [each["metadata"]["name"] for each in api.ask("GET", PODS)["items"]] == ["kept"]
    assert api.ask("GET", f"/api/v1/nodes/{NODE}")["spec"]["unschedulable"]
    assert asyncio.run(ready_nodes(api))[NODE] is False
    api.ask("DELETE", f"{budgets}/one")
    assert asyncio.run(drain(api, NODE, 30)) == "1 pods were evicted"
    assert asyncio.run(drain(api, "nowhere", 1)) == "the cluster has no such node"
    api.ask("DELETE", f"/api/v1/nodes/{NODE}")


def test_a_refused_websocket_has_the_message_of_the_api(api: KubernetesApi) -> None:
    with pytest.raises(Refused, match=r'^404: pods "nothing" not found$'):
        streams.execute(api, f"{PODS}/nothing", ["true"])
    with pytest.raises(Refused, match=r'^404: pods "nothing" not found$'):
        streams.port_forward(api, f"{PODS}/nothing", 80, b"x")


def test_a_websocket_opens_and_closes_as_the_api_does(api: KubernetesApi) -> None:
    """No kubelet answers, so the API closes the stream with an error, or refuses it."""
    api.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    status = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}
    api.ask("PATCH", f"/api/v1/nodes/{NODE}/status", status, "application/merge-patch+json")
    api.ask("POST", PODS, pod("mute"))
    try:
        assert streams.execute(api, f"{PODS}/mute", ["true"]) == ""
    except Refused as refused:
        if refused.status not in (500, 502, 503):
            raise
    finally:
        api.ask("DELETE", f"{PODS}/mute")
        api.ask("DELETE", f"/api/v1/nodes/{NODE}")
