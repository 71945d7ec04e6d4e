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
LINUX = {"kubernetes.io/os": "linux"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"conditions": [{"type": "Ready", "status": "False"}]}
HOUR = 3600.0


@pytest.fixture
def founded(cluster: Cluster) -> Cluster:
    """Return a cluster whose founder runs both pods of CoreDNS."""
    cluster.add(DEPLOYMENTS, "coredns", spec={"replicas": 2})
    control_plane = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    cluster.node("control-plane-0", metadata={"labels": LINUX}, spec={"taints": [control_plane]})
    for name in ("coredns-a", "coredns-b"):
        pod(cluster, name)
    return cluster


def pod(cluster: Cluster, name: str, node: str = "control-plane-0", age: float = HOUR, status: Any = None) -> None:
    """Add a pod of CoreDNS."""
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
    cluster.add(PODS, name, metadata={"creationTimestamp": began}, spec={"nodeName": node}, status=status or READY)


def reconcile(module: Callable[[str], ModuleType], run: Any, cluster: Cluster) -> list[str]:
    """Run the concern; return its writes."""
    cluster.asked.clear()
    module("dns").reconcile(round_of(module, run, cluster, {}))
    return list(cluster.asked)


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


@pytest.mark.parametrize(("nodes", "has", "gets"), [(33, 2, 3), (33, 5, 5), (20, 1, 2)])
def test_replicas_grow_with_the_nodes_and_never_shrink(
    module: Callable[[str], ModuleType], run: Any, founded: Cluster, nodes: int, has: int, gets: int
) -> None:
    for number in range(nodes - 1):
        founded.node(f"web-{number}")
    founded.add(DEPLOYMENTS, "coredns", spec={"replicas": has})
    reconcile(module, run, founded)
    assert founded.objects[f"{DEPLOYMENTS}/coredns"]["spec"]["replicas"] == gets


def test_a_cluster_with_another_dns_is_left_alone(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    assert reconcile(module, run, cluster) == []
