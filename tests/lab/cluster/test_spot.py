"""Spot machines of a booted cluster: their cloud takes one of each system back, and `mullion up` creates both again.

No pod runs on Windows machines here: the test's pod is bound to one, and waits there until the machine evicts it.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from operations.engine.locate import Engine
from sandbox.boot.windows.hosts import why_not
from tests.awaited import until
from tests.lab.cluster.asking import condition
from tests.lab.cluster.spot import COMMAND_SECONDS, END_SECONDS, LINUX, ON, STAYS, TAKEN, WINDOWS, Spot

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

CLOUDS = ("aws", "azure", "gcp")
READY_SECONDS = 600
"""Longest time in which a machine that `up` created boots, on busy cores."""


@pytest.fixture(scope="module", params=CLOUDS)
def cluster(
    request: pytest.FixtureRequest,
    built: str,
    engine: Engine,
    missing: Callable[[str, str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Spot]:
    """Return the booted cluster of a cloud, with pods on its spot machines."""
    if why := why_not(WINDOWS):
        missing("winpwsh", why)
    made = Spot(tmp_path_factory.mktemp("spot"), request.param)
    made.mullion("up", made.stack, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
    try:
        made.mullion("sandbox", "boot", made.stack)
        made.begin()
        yield made
    finally:
        made.mullion("down", made.stack, "--sandbox", "--yes")


@pytest.fixture(scope="module")
def nodes(cluster: Spot) -> dict[str, str]:
    """Return the uid of each Node before the notice."""
    return uids(cluster)


def uids(cluster: Spot) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in cluster.nodes().items()}


def test_interrupted_machines_cordon_themselves_and_move_their_pods_within_the_notice(
    cluster: Spot, nodes: dict[str, str]
) -> None:
    pods = {name: cluster.names(name) for name in ON}
    ready: list[int] = []
    elsewhere: dict[str, float] = {}

    def look() -> None:
        began = time.time()
        there = {name: cluster.places(name) for name in ("guarded", "moved")}
        ready.append(len(there["guarded"]))
        for name, where in there.items():
            if where == [STAYS] * len(pods[name]):
                elsewhere.setdefault(name, began)

    notice, end = cluster.interrupt(meanwhile=look)
    assert end - notice < cluster.notice + COMMAND_SECONDS
    assert min(ready) >= 1, "the budget was obeyed"
    evicted = {
        node: {name: at for at, name, code in cluster.requests(node, notice, "create", "pods/eviction") if code == 201}
        for node in TAKEN
    }
    ended = {name: at for at, name, _ in cluster.requests(LINUX, notice, "delete", "pods")}
    cordoned = {node: cluster.requests(node, notice, "patch", "nodes") for node in TAKEN}
    print(  # noqa: T201 - the figures of docs/proof-log.md
        f"s after the notice: cordons {cordoned}, evictions {evicted}, ends {ended}, "
        f"ready elsewhere { {name: at - notice for name, at in elsewhere.items()} }"
    )
    assert [code for requests in cordoned.values() for _, _, code in requests] == [200] * len(TAKEN)
    assert evicted[LINUX].keys() == pods["moved"] | pods["guarded"]
    assert evicted[WINDOWS].keys() == pods["waiting"]
    assert all(ended[name] - at >= END_SECONDS for name, at in evicted[LINUX].items()), "each pod ended by itself"
    assert elsewhere.keys() == {"guarded", "moved"}
    assert not cluster.machines().keys() & TAKEN


def test_nodes_of_lost_machines_are_deleted_and_pods_that_their_budget_kept_run_elsewhere(
    cluster: Spot, nodes: dict[str, str]
) -> None:
    until(lambda: not uids(cluster).keys() & TAKEN, "the Nodes are deleted", 600)
    assert uids(cluster).items() <= nodes.items(), "the others stay"
    for name in ("moved", "guarded", "kept"):
        wanted = [STAYS] * (2 if name == "guarded" else 1)
        until(lambda name=name, wanted=wanted: cluster.places(name) == wanted, f"{name} runs on {STAYS}")


def test_the_next_up_creates_the_machines_again_and_they_join_under_their_names(
    cluster: Spot, nodes: dict[str, str]
) -> None:
    created_again(cluster, nodes)
    until(lambda: cluster.places("waiting") == [WINDOWS], "the pod is bound to the new machine")
    assert json.loads(cluster.mullion("verify", cluster.stack, "--json"))["failed"] == 0


def test_machines_that_up_creates_while_the_lost_nodes_exist_join_under_their_names(cluster: Spot) -> None:
    before = uids(cluster)
    cluster.interrupt("--seconds", "0")
    created_again(cluster, before)
    assert json.loads(cluster.mullion("verify", cluster.stack, "--json"))["failed"] == 0


def created_again(cluster: Spot, before: dict[str, str]) -> None:
    """Run `up`; wait until the Nodes of the spot machines are new ones, and no others."""
    printed = cluster.mullion("up", cluster.stack, "--sandbox", "--yes")
    for name in TAKEN:
        assert f"{cluster.stack}-{name}: the cloud took this spot machine back; it is created again" in printed

    def booted() -> bool:
        machines = cluster.machines()
        return all(machines.get(name, {}).get("record") == "ready" for name in TAKEN)

    until(booted, "the machines boot", READY_SECONDS, log=lambda: str(cluster.machines()))
    until(lambda: LINUX in ready_nodes(cluster), "the Linux Node is Ready")
    after = uids(cluster)
    assert {name for name, uid in after.items() if before.get(name) != uid} == TAKEN
    assert after.keys() == before.keys()
    assert all(cluster.nodes()[name]["metadata"]["labels"]["mullion.dev/spot"] == "true" for name in TAKEN)


def ready_nodes(cluster: Spot) -> set[str]:
    found = cluster.nodes()
    return {
        name
        for name, each in found.items()
        if condition(each, "Ready") == "True" and "unschedulable" not in each["spec"]
    }
