"""Pods that the cloud routes (l2bridge), on the real engine: routes follow machines that come, are made anew, go."""

from collections.abc import Callable

import pytest

from .conftest import INSTANCE, Stack

pytestmark = pytest.mark.engine

ROUTE = "aws:ec2/route:Route"


def routed(stack: Stack) -> dict[str, str]:
    """What the world's routes to interfaces say: range -> name of the machine that has the interface."""
    machines = {
        each.outputs["primaryNetworkInterfaceId"]: each.tags["Name"] for each in stack.world.resources(INSTANCE)
    }
    routes = [each.inputs for each in stack.world.resources(ROUTE) if each.inputs.get("networkInterfaceId")]
    return {
        each["destinationCidrBlock"]: machines[each["networkInterfaceId"]].removeprefix(f"{stack.name}-")
        for each in routes
    }


def test_net_05_routes_of_pods_follow_their_machines(new_stack: Callable[[str], Stack]) -> None:
    stack = new_stack("aws-routed")
    assert stack.preview().steps == stack.up().steps
    first, machines = routed(stack), stack.machines()
    assert sorted(first.values()) == sorted(machines) == ["control-plane-0", "linux-0", "web-0"]
    assert all(each.inputs["sourceDestCheck"] is False for each in stack.world.resources(INSTANCE))
    assert {boot.state for boot in stack.world.boots()} == {"ready"}

    stack.edit(pools={"linux": {"count": 2}, "web": {"size": "m6i.2xlarge"}})
    changed = stack.up()
    now = routed(stack)
    assert first.items() < now.items(), "a machine that is made anew keeps its range, and scaling moves none"
    assert sorted(now.values()) == ["control-plane-0", "linux-0", "linux-1", "web-0"]
    assert stack.machines()["web-0"] != machines["web-0"]
    routes = {name: each for name, each in changed.of(ROUTE).items() if "pods" in name}
    assert routes == {
        "aws-routed-machines-0-pods-linux-1": ("create",),
        "aws-routed-machines-0-pods-web-0": ("update",),
    }, "in place, so that no other machine is touched"
    assert stack.up().steps == {}
    stack.down()
    assert stack.world.resources(ROUTE) == []
