"""CoreDNS does not stay on one machine, and has more replicas in a larger cluster."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_members import round_of

PODS = "/api/v1/namespaces/kube-system/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
BUDGETS = "/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets"
OWN = {"matchLabels": {"k8s-app": "kube-dns"}}
LINUX = {"kubernetes.io/os": "linux"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"conditions": [{"type": "Ready", "status": "False"}]}
HOUR = 3600.0


@pytest.fixture
def founded(cluster: Cluster) -> Cluster:
    """Return a cluster whose founder runs both pods of CoreDNS."""
    deploy(cluster)
    budget(cluster, "mullion-coredns", OWN)
    control_plane = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    cluster.node("control-plane-0", metadata={"labels": LINUX}, spec={"taints": [control_plane]})
    for name in ("coredns-a", "coredns-b"):
        pod(cluster, name)
    return cluster


def deploy(cluster: Cluster, replicas: int = 2, **template: Any) -> None:
    """Add or change kubeadm's Deployment; template: fields of the pods' spec."""
    pods = {"metadata": {"labels": {"k8s-app": "kube-dns"}}, "spec": {"nodeSelector": LINUX} | template}
    cluster.add(DEPLOYMENTS, "coredns", spec={"replicas": replicas, "template": pods})


def budget(cluster: Cluster, name: str, selector: dict[str, Any]) -> None:
    """Add a PodDisruptionBudget."""
    cluster.add(BUDGETS, name, spec={"maxUnavailable": 1, "selector": selector})


def pod(cluster: Cluster, name: str, node: str = "control-plane-0", age: float = HOUR, status: Any = None) -> None:
    """Add a pod of CoreDNS."""
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
    cluster.add(PODS, name, metadata={"creationTimestamp": began}, spec={"nodeName": node}, status=status or READY)


def reconcile(module: Callable[[str], ModuleType], run: Any, cluster: Cluster) -> list[str]:
    """Run the concern; return its writes, except those of the agent's memory."""
    cluster.asked.clear()
    module("dns").reconcile(round_of(module, run, cluster, {}))
    return [each for each in cluster.asked if "/configmaps" not in each]


def test_one_pod_moves_once_another_node_can_take_it(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster
) -> None:
    assert reconcile(module, run, founded) == []
    founded.node("linux-0", metadata={"labels": LINUX})
    assert reconcile(module, run, founded) == [f"DELETE {PODS}/coredns-b"]
    pod(founded, "coredns-c", "linux-0")
    assert reconcile(module, run, founded) == []


@pytest.mark.parametrize(
    "other",
    [
        {"metadata": {"labels": {"kubernetes.io/os": "windows"}}},
        {"metadata": {"labels": LINUX}, "ready": False},
        {"metadata": {"labels": LINUX}, "spec": {"unschedulable": True}},
        {"metadata": {"labels": LINUX}, "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}},
    ],
    ids=["windows", "not ready", "cordoned", "tainted"],
)
def test_no_pod_moves_while_no_other_node_can_take_it(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, other: dict[str, Any]
) -> None:
    founded.node("other-0", **other)
    assert reconcile(module, run, founded) == []


@pytest.mark.parametrize(("age", "status"), [(60.0, READY), (HOUR, STARTING)], ids=["moved already", "not ready"])
def test_no_pod_moves_unless_all_are_ready_for_minutes(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, age: float, status: Any
) -> None:
    """Else a pod that cannot move would restart every minute, or the last one that answers would end."""
    founded.node("linux-0", metadata={"labels": LINUX})
    pod(founded, "coredns-a", age=age, status=status)
    assert reconcile(module, run, founded) == []


@pytest.mark.parametrize(("nodes", "has", "gets"), [(33, 2, 3), (33, 5, 5), (33, 1, 1), (33, 0, 0)])
def test_replicas_grow_from_kubeadms_number_and_another_number_stays(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, nodes: int, has: int, gets: int
) -> None:
    for number in range(nodes - 1):
        founded.node(f"web-{number}")
    deploy(founded, has)
    reconcile(module, run, founded)
    assert founded.objects[f"{DEPLOYMENTS}/coredns"]["spec"]["replicas"] == gets


def test_a_cluster_with_another_dns_is_left_alone(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    assert reconcile(module, run, cluster) == []


def test_replicas_grow_from_the_number_that_the_agent_set_and_an_autoscalers_stays(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster
) -> None:
    for count, has, gets in ((33, None, 3), (49, None, 4), (65, 2, 2)):
        for number in range(count - 1):
            founded.node(f"web-{number}")
        if has:
            deploy(founded, has)
        reconcile(module, run, founded)
        assert founded.objects[f"{DEPLOYMENTS}/coredns"]["spec"]["replicas"] == gets


@pytest.mark.parametrize(
    "template",
    [{"nodeSelector": LINUX | {"pool": "infra"}}, {"affinity": {"nodeAffinity": {"required": "infra"}}}],
    ids=["nodeSelector", "nodeAffinity"],
)
def test_pods_that_somebody_has_bound_to_nodes_stay(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, template: dict[str, Any]
) -> None:
    founded.node("linux-0", metadata={"labels": LINUX})
    deploy(founded, **template)
    assert reconcile(module, run, founded) == []


def test_a_pod_that_starts_on_the_same_node_again_is_deleted_again_a_day_later(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other Node may have no space for it."""
    founded.node("linux-0", metadata={"labels": LINUX})
    assert reconcile(module, run, founded) == [f"DELETE {PODS}/coredns-b"]
    pod(founded, "coredns-b")
    assert reconcile(module, run, founded) == []
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * HOUR)
    assert reconcile(module, run, founded) == [f"DELETE {PODS}/coredns-b"]
    pod(founded, "coredns-b", "linux-0")
    assert reconcile(module, run, founded) == []
    pod(founded, "coredns-b")
    assert reconcile(module, run, founded) == [f"DELETE {PODS}/coredns-b"], "the move before was a success"


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (OWN, True),
        ({}, True),
        ({"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns", "x"]}]}, True),
        ({"matchExpressions": [{"key": "k8s-app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "k8s-app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "k8s-app", "operator": "NotIn", "values": ["kube-dns"]}]}, False),
        ({"matchLabels": {"k8s-app": "other"}}, False),
    ],
    ids=["labels", "all", "in", "exists", "does not exist", "not in", "other labels"],
)
def test_the_pods_have_one_disruption_budget(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, selector: dict[str, Any], selects: bool
) -> None:
    """The API answers 500 to the eviction of a pod with two, so no drain of its machine ends."""
    ours = f"{BUDGETS}/mullion-coredns"
    budget(founded, "coredns", selector)
    assert reconcile(module, run, founded) == ([f"DELETE {ours}"] if selects else [])
    assert reconcile(module, run, founded) == []
    del founded.objects[f"{BUDGETS}/coredns"]
    assert reconcile(module, run, founded) == ([f"POST {BUDGETS}"] if selects else [])
    assert reconcile(module, run, founded) == []
    assert ours in founded.objects
