"""Pod routes of the cloud (l2bridge) on the real engine: they follow machines that are added, replaced or removed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi.automation as auto
import pytest

from . import sampling
from .conftest import Stack
from .kubernetes import Cluster, resolve, serve
from .things import THINGS

pytestmark = pytest.mark.engine

NETWORK = {"mode": "l2bridge", "pods": "10.244.0.0/14", "services": "10.96.0.0/12", "nodes": "10.20.0.0/22"}


@pytest.fixture(params=sampling.each("dev"))
def stack(request: pytest.FixtureRequest, new_stack: Callable[[str], Stack]) -> Stack:
    """One control plane, one Linux and one Windows worker."""
    return new_stack(sampling.stack(request.param, "pod routes"))


def edit(stack: Stack, **pools: Any) -> None:
    """Write this test's stack file, with changed fields of its pools."""
    stack.edit(network=NETWORK, pools=pools)


def routed(stack: Stack) -> dict[str, str]:
    """Return the sandbox's routes to machines: pod range -> name of the machine."""
    things = THINGS[stack.cloud.name]
    machines = {things.hop(each): each.name for each in stack.cloud_state.resources(stack.cloud.machine)}
    ways = [way for each in stack.cloud_state.resources(things.route) for way in things.ways(each.inputs)]
    return {pods: machines[hop].removeprefix(f"{stack.name}-") for pods, hop in ways if hop}


def test_net_05_routes_of_pods_follow_their_machines(stack: Stack) -> None:
    things = THINGS[stack.cloud.name]
    edit(stack)
    assert stack.preview().steps == stack.up().steps
    first, machines = routed(stack), stack.machines()
    assert sorted(first.values()) == sorted(machines) == ["control-plane-0", "linux-0", "web-0"]
    kind, forwards, value = things.forwards
    assert [each.inputs[forwards] for each in stack.cloud_state.resources(kind)] == [value] * len(machines)
    assert {boot.state for boot in stack.cloud_state.boots()} == {"ready"}

    edit(stack, linux={"count": 2}, web={"size": things.larger[1]})
    changed = stack.up()
    now = routed(stack)
    assert first.items() < now.items(), "a machine that is made anew keeps its range, and scaling moves none"
    assert sorted(now.values()) == ["control-plane-0", "linux-0", "linux-1", "web-0"]
    assert stack.machines()["web-0"] != machines["web-0"]
    if stack.cloud.name == "azure":
        assert changed.of(things.route) == {f"{stack.name}-routes": ("update",)}, "all routes in one request"
        assert stack.cloud_state.resources("azure-native:network:Route") == []
    else:
        made = {
            name.rpartition("-pods-")[2]: each for name, each in changed.of(things.route).items() if "-pods-" in name
        }
        moved = {"web-0": ("update",)} if things.moved else {}
        assert made == {"linux-1": ("create",), **moved}, "in place, so that no other machine is touched"
    assert stack.up().steps == {}


class Watched(Cluster):
    """A Kubernetes API that remembers which machines had a route to their pods when a node was cordoned."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(nodes=dict.fromkeys(("linux-0", "linux-1", "web-0"), True))
        self._stack, self.routed = stack, dict[str, set[str]]()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Record the routes with each cordon."""
        if method == "PATCH":
            self.routed.setdefault(path.rpartition("/")[2], set(routed(self._stack).values()))
        return super().answer(method, path, body)


@pytest.fixture
def cluster(stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Watched]:
    """The cluster's API at the address that the program uses."""
    edit(stack, linux={"count": 2})
    stack.up()
    watched, host = Watched(stack), f"api.{stack.name}.mullion.internal"
    with serve(watched, host, stack.stashed("cluster-ca"), tmp_path) as port:
        resolve(monkeypatch, host, port)
        yield watched


def test_a_removed_worker_is_drained_while_the_network_still_leads_to_its_pods(stack: Stack, cluster: Watched) -> None:
    cluster.add("app", "linux-1", refusals=10**6)
    edit(stack, linux={"count": 1, "rollout": {"drain": "1s"}})
    with pytest.raises(auto.CommandError, match="pods remain on node linux-1"):
        stack.up()
    assert "linux-1" in routed(stack).values(), "the pods that could not be evicted are still reached"
    cluster.refusals["app"] = 0
    stack.up()
    assert cluster.asked[-1] == "evict app" or cluster.asked[-2:] == ["evict app", "cordon linux-1"]
    assert cluster.routed.keys() == {"linux-1"} and "linux-1" in cluster.routed["linux-1"]
    assert sorted(routed(stack).values()) == sorted(stack.machines()) == ["control-plane-0", "linux-0", "web-0"]
    stack.down()
    assert stack.cloud_state.resources(THINGS[stack.cloud.name].route) == []
