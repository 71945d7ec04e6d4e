"""Pod routes of the cloud (l2bridge) on the real engine: they follow machines that are added, replaced or removed."""

from collections.abc import Callable
from typing import Any

import pytest

from . import sampling
from .conftest import Stack
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
    stack.down()
    assert stack.cloud_state.resources(things.route) == []
