"""A spot machine's drain as the node itself, by the real kubectl and API server."""

import importlib
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.rollout.kubernetes_api import PATCH, KubernetesApi
from operations.commands import reached_api
from tests.awaited import until
from tests.lab.agent.served import ADVERTISED, Served

pytestmark = pytest.mark.lab

NODE, OTHER = "spot-0", "usual-0"
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
def api(served: Served) -> Iterator[KubernetesApi]:
    """Yield the administrator's client, with two Nodes."""
    client = reached_api.client(served.administrator.read_text())
    until(lambda: client.ask("GET", "/api/v1/namespaces/default/serviceaccounts")["items"], "the default account")
    for name in (NODE, OTHER):
        client.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    yield client
    for path in (BUDGETS, PODS):
        for each in client.ask("GET", path)["items"]:
            client.ask("DELETE", f"{path}/{each['metadata']['name']}?gracePeriodSeconds=0")
    for name in (NODE, OTHER):
        client.ask("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def argv(served: Served, tmp_path: Path, node: Any) -> tuple[str, ...]:
    """Return the drain of the service, with the node's own kubeconfig."""
    who = ("--client-name", f"system:node:{NODE}", "--org", "system:nodes")
    command = [served.programs["kubeadm"], "kubeconfig", "user", *who, "--config", served.config]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    path = tmp_path / "kubelet.conf"
    path.write_text(made.stdout.replace(ADVERTISED, "127.0.0.1"))
    kubectl = str(served.programs["kubectl"])
    return importlib.import_module("interruption").command(
        Namespace(kubectl=kubectl, kubeconfig=str(path), grace=0), NODE
    )


def create(api: KubernetesApi, name: str, on: str, **labels: str) -> None:
    """Create a running pod without a controller."""
    containers = [{"name": "a", "image": "busybox"}]
    spec = {"nodeName": on, "containers": containers, "automountServiceAccountToken": False}
    metadata = {"name": name, "labels": {"app": name, **labels}}
    api.ask("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    api.ask("PATCH", f"{PODS}/{name}/status", {"status": ready}, PATCH)


def test_a_node_may_cordon_itself_and_evict_its_pods(api: KubernetesApi, argv: tuple[str, ...]) -> None:
    drain = importlib.import_module("interruption").drain
    create(api, "work", NODE)
    create(api, "daemon", NODE, **{"pod-template-generation": "1"})
    create(api, "elsewhere", OTHER)
    assert drain(argv, 30), "a drain that cannot read an evicted pod is repeated"
    assert {each["metadata"]["name"] for each in api.ask("GET", PODS)["items"]} == {"daemon", "elsewhere"}
    assert api.ask("GET", f"/api/v1/nodes/{NODE}")["spec"]["unschedulable"]
    assert "unschedulable" not in api.ask("GET", f"/api/v1/nodes/{OTHER}").get("spec", {})


def test_a_disruption_budget_is_obeyed_until_the_notice_is_over(api: KubernetesApi, argv: tuple[str, ...]) -> None:
    create(api, "kept", NODE)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"}, "spec": spec}
    api.ask("POST", BUDGETS, budget)
    until(lambda: api.ask("GET", f"{BUDGETS}/one").get("status", {}).get("currentHealthy"), "the budget is counted")
    assert not importlib.import_module("interruption").drain(argv, 4)
    assert [each["metadata"]["name"] for each in api.ask("GET", PODS)["items"]] == ["kept"]


def test_a_node_may_not_evict_pods_of_others(api: KubernetesApi, argv: tuple[str, ...]) -> None:
    create(api, "elsewhere", OTHER)
    foreign = tuple(OTHER if each == NODE else each for each in argv)
    ended = subprocess.run((*foreign, "--timeout=5s"), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode and "forbidden" in ended.stderr
    assert [each["metadata"]["name"] for each in api.ask("GET", PODS)["items"]] == ["elsewhere"]
