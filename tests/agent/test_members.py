"""Nodes get the labels, taints and pod range of their member; keys of other owners stay."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster, merged
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

OS = {"key": "os", "value": "windows", "effect": "NoSchedule"}
TEAM = {"key": "team", "value": "", "effect": "NoExecute"}
THEIRS = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
NODES = "/api/v1/nodes"


def member(labels: dict[str, str] | None = None, taints: Any = (), pods: str | None = None) -> dict[str, Any]:
    """Return the planned member web-0."""
    planned = {"name": "web-0", "pool": "web", "address": "10.20.1.4", "pods": pods}
    return {**planned, "labels": labels or {}, "taints": list(taints)}


def node(labels: dict[str, str] | None = None, taints: Any = ()) -> dict[str, Any]:
    """Return Node web-0."""
    metadata = {"name": "web-0", "labels": labels or {}, "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"taints": list(taints)}}


def planned(*labels: str, taints: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return the keys of the previous plan."""
    return {"labels": list(labels), "taints": list(taints)}


CASES: dict[str, tuple[dict[str, Any], Any, dict[str, Any], dict[str, str], list[Any]]] = {
    "a label that lacks": (node(), planned(), member({"team": "a"}), {"team": "a"}, []),
    "a label that differs": (
        node({"team": "b", "x": "y"}),
        planned(),
        member({"team": "a"}),
        {"team": "a", "x": "y"},
        [],
    ),
    "a label that was planned": (node({"old": "1", "x": "y"}), planned("old"), member(), {"x": "y"}, []),
    "a label that somebody else set": (node({"x": "y"}), planned(), member(), {"x": "y"}, []),
    "a taint that lacks": (node(taints=[THEIRS]), planned(), member(taints=[OS]), {}, [THEIRS, OS]),
    "a taint with another value": (node(taints=[OS | {"value": "x"}]), planned(), member(taints=[OS]), {}, [OS]),
    "a taint without a value": (
        *(node(), planned(), member(taints=[TEAM]), {}),
        [{"key": "team", "effect": "NoExecute"}],
    ),
    "a taint that was planned": (
        *(node(taints=[OS, THEIRS]), planned(taints=("os:NoSchedule",)), member(), {}),
        [THEIRS],
    ),
    "a taint that somebody else set": (node(taints=[THEIRS]), planned(), member(), {}, [THEIRS]),
}


@pytest.mark.parametrize(("has", "before", "wanted", "labels", "taints"), CASES.values(), ids=CASES)
def test_a_node_gets_the_labels_and_taints_of_its_member(
    module: Callable[[str], ModuleType], has: Any, before: Any, wanted: Any, labels: dict[str, str], taints: list[Any]
) -> None:
    """SCH-02, design 3: reconciles labels and taints, only planned keys."""
    members = module("members")
    after = merged(has, members.decide(has, wanted, before) or {})
    assert after["metadata"]["labels"] == labels
    assert after["spec"]["taints"] == taints
    assert members.decide(after, wanted, members.keys(wanted)) is None, "a second look changes nothing"


def test_a_list_of_taints_is_replaced_only_if_it_is_unchanged_since_the_read(
    module: Callable[[str], ModuleType],
) -> None:
    decide = module("members").decide
    assert decide(node(), member(taints=[OS]), planned())["metadata"]["resourceVersion"] == "7"
    assert "resourceVersion" not in decide(node(), member({"team": "a"}), planned())["metadata"]


def test_a_node_cannot_declare_its_own_keys_as_planned(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """A kubelet can write annotations of its Node: naming a quarantine taint there must not remove the taint."""
    quarantine = {"key": "quarantine", "effect": "NoExecute"}
    annotations = {"mullion.dev/planned": '{"labels": [], "taints": ["quarantine:NoExecute", "os:NoSchedule"]}'}
    cluster.node("web-0", spec={"taints": [quarantine, OS]}, metadata={"annotations": annotations})
    for taints, left in (([OS], [quarantine, OS]), ([], [quarantine])):
        module("members").reconcile(round_of(module, run, cluster, {"web-0": member(taints=taints)}))
        assert cluster.objects[f"{NODES}/web-0"]["spec"]["taints"] == left


def test_a_node_loses_labels_that_are_planned_for_other_members(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """A kubelet can write labels of its Node: that of another pool would attract the pods of that pool."""
    cluster.node("web-0", metadata={"labels": {"team": "payments", "disk": "fast"}})
    others = {"name": "pay-0", "labels": {"team": "payments"}}
    module("members").reconcile(round_of(module, run, cluster, {"web-0": member(), "pay-0": {**member(), **others}}))
    assert cluster.objects[f"{NODES}/web-0"]["metadata"]["labels"] == {"disk": "fast"}


def test_a_planned_pod_range_is_set_once_and_a_wrong_one_is_reported(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """FLN-01: with l2bridge the controller manager assigns no ranges."""
    cluster.node("web-0")
    cluster.node("web-1", spec={"podCIDR": "10.244.9.0/24", "podCIDRs": ["10.244.9.0/24"]})
    listed = {"web-0": member(pods="10.244.3.0/24"), "web-1": {**member(pods="10.244.4.0/24"), "name": "web-1"}}
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"web-1 has pod range 10\.244\.9\.0/24, and 10\.244\.4\.0/24 is planned"
        ):
            module("members").reconcile(round_of(module, run, cluster, listed))
    assert cluster.objects[f"{NODES}/web-0"]["spec"]["podCIDRs"] == ["10.244.3.0/24"]
    assert [each for each in cluster.asked if "nodes" in each] == [f"PATCH {NODES}/web-0"], "once"


def round_of(module: Callable[[str], ModuleType], run: Any, cluster: Cluster, listed: Any, **more: Any) -> Any:
    clock = more.pop("clock", time.monotonic)
    arguments = {"members_current": True, "silent": {}, "leave": lambda name: None} | more
    seen = module("seen").Seen(run, cluster, listed, **arguments)
    seen.clock = clock
    return seen


@pytest.mark.parametrize(
    ("listed", "beats", "current", "gone", "seconds", "stays"),
    [
        (False, False, True, True, 60, False),
        (True, False, True, True, 9999, True),
        (False, True, True, True, 9999, True),
        (False, False, False, True, 9999, True),
        (False, False, True, False, 9999, True),
        (False, False, True, True, 59, True),
    ],
    ids=["all four", "on the list", "its kubelet lives", "an old list", "its machine lives", "not for long"],
)
def test_a_node_is_deleted_only_if_all_conditions_hold(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    listed: bool,
    beats: bool,
    current: bool,
    gone: bool,
    seconds: float,
    stays: bool,
) -> None:
    """Not on the current list, its Lease not renewed for a minute by the agent's clock, and deleted in the cloud."""
    monkeypatch.setattr(module("seen").compute, "gone", lambda *_: gone)
    cluster.node("web-0", ready=False, instance="i-0123456789abcdef0")
    now, silent = [1000.0], {}
    for at in (1000.0, 1020.0, 1040.0, 1000.0 + min(seconds, 60.0), 1000.0 + seconds):
        now[0] = at
        cluster.beat("web-0", at if beats else 0)
        planned_now = {"web-0": member()} if listed else {"web-9": {**member(), "name": "web-9"}}
        given = {"members_current": current, "silent": silent, "clock": lambda: now[0]}
        module("members").reconcile(round_of(module, run, cluster, planned_now, **given))
    assert (cluster.find(f"{NODES}/web-0") is not None) == stays


@pytest.mark.parametrize(
    ("listed", "gone", "admitted", "stays"),
    [
        (False, True, True, False),
        (True, True, True, True),
        (False, False, True, True),
        (False, True, False, True),
    ],
    ids=["its key is stolen", "on the list", "its machine lives", "never admitted"],
)
def test_a_node_with_a_living_lease_is_deleted_if_its_machine_is_deleted_and_its_name_not_planned(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    listed: bool,
    gone: bool,
    admitted: bool,
    stays: bool,
) -> None:
    """Keep the Node of a machine alive that was scaled away; it names another machine, which lives."""
    monkeypatch.setattr(module("seen").compute, "gone", lambda run, machine: gone and machine == "i-1")
    cluster.node("web-0", instance="i-0123456789abcdef0")
    if admitted:
        record = {"web-0": '{"instance": "i-1"}'}
        cluster.add("/api/v1/namespaces/kube-system/configmaps", "mullion-machines", data=record)
    cluster.beat("web-0", time.time())
    members = {"web-0": member()} if listed else {"web-9": {**member(), "name": "web-9"}}
    module("members").reconcile(round_of(module, run, cluster, members))
    assert (cluster.find(f"{NODES}/web-0") is not None) == stays


def test_a_renewed_lease_starts_a_new_time_of_silence_and_the_condition_ready_does_not_count(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    silent: dict[str, tuple[str, float, float]] = {}
    found = []
    for at, renewed in ((0.0, 0), (500.0, 1), (515.0, 1), (530.0, 1)):
        cluster.node("web-0", ready=at == 515.0, metadata={"uid": "same"})
        cluster.beat("web-0", renewed)
        seen = round_of(module, run, cluster, {}, silent=silent, clock=lambda at=at: at)
        found.append(seen.silent_for(seen.nodes()["web-0"]))
    assert found == [0, 0, 15, 30]


def test_a_long_round_or_an_outage_of_the_api_makes_no_node_silent(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """Kubelets that could not renew their Leases, or whose Leases were read long ago, are alive."""
    silent: dict[str, tuple[str, float, float]] = {}
    now = [0.0]
    cluster.node("web-0", metadata={"uid": "same"})
    cluster.beat("web-0", 1)
    for _ in range(2):
        seen = round_of(module, run, cluster, {}, silent=silent, clock=lambda: now[0])
        node = seen.nodes()["web-0"]
        now[0] += 900.0
        assert seen.silent_for(node) < module("seen").AWAY


@pytest.mark.parametrize(
    ("seconds", "gone", "current", "stays"),
    [(180.0, True, True, False), (179.0, True, True, True), (9999.0, False, True, True), (9999.0, True, False, True)],
    ids=["gone for minutes", "not for long", "its machine lives", "an old list"],
)
def test_the_node_of_a_planned_machine_that_vanished_is_deleted(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    gone: bool,
    current: bool,
    stays: bool,
) -> None:
    """Its pods would stay in the state Terminating until somebody runs `up`."""
    monkeypatch.setattr(module("seen").compute, "gone", lambda *_: gone)
    cluster.node("web-0", metadata={"uid": "u"}, instance="i-0123456789abcdef0")
    given = {"members_current": current, "silent": {"u": ("", seconds, time.monotonic())}}
    module("members").reconcile(round_of(module, run, cluster, {"web-0": member()}, **given))
    assert (cluster.find(f"{NODES}/web-0") is not None) == stays


@EACH_CLOUD
def test_of_two_silent_nodes_the_one_whose_machine_is_deleted_is_removed(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud, cluster: Cluster
) -> None:
    for name, machine in (("there", cloud.account.provider_id), ("gone", cloud.account.other)):
        cluster.node(name, ready=False, metadata={"uid": name}, spec={"providerID": machine})
    silent = dict.fromkeys(("there", "gone"), ("", 9999.0, 0.0))
    module("members").reconcile(round_of(module, run, cluster, {"web-0": member()}, silent=silent))
    assert cluster.find(f"{NODES}/there") and not cluster.find(f"{NODES}/gone")
    assert not cloud.refused()


def test_a_node_without_a_provider_id_of_this_cloud_stays(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    cluster.node("mine", ready=False, metadata={"uid": "u"})
    seen = round_of(module, run, cluster, {"web-0": member()}, silent={"u": ("", 9999.0, 0.0)})
    module("members").reconcile(seen)
    assert cluster.find(f"{NODES}/mine")
