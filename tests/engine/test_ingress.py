"""Load balancers of `ingress` on the real engine: targets follow machines, and leave before their machine does."""

import json
from collections.abc import Callable

import pytest

from . import sampling
from .conftest import Run, Stack
from .things import THINGS

pytestmark = pytest.mark.engine

TARGET = {
    "aws": "aws:lb/targetGroupAttachment:TargetGroupAttachment",
    "gcp": "gcp:compute/instanceGroupMembership:InstanceGroupMembership",
}
"""Type of a machine's membership. On Azure the machine's interface has it, and stays."""
BALANCER = {
    "aws": "aws:lb/loadBalancer:LoadBalancer",
    "azure": "azure-native:network:LoadBalancer",
    "gcp": "gcp:compute/forwardingRule:ForwardingRule",
}


@pytest.fixture(params=sampling.each("dev"))
def stack(request: pytest.FixtureRequest, new_stack: Callable[[str], Stack]) -> Stack:
    return new_stack(sampling.stack(request.param, "ingress"))


def edit(stack: Stack, node_port: int | None = 30080, *, swapped: bool = False, **linux: object) -> None:
    """Write the stack file: a public and an internal load balancer in front of the Linux pool; None: none.

    swapped: the public one becomes internal, and the internal one public.
    """
    port = {"port": 80 if stack.cloud.name != "gcp" else node_port, "node_port": node_port}
    front = {"pools": ["linux"], "ports": [port], "allow": ["0.0.0.0/0"], "internal": swapped}
    inside = {**front, "internal": not swapped, "allow": ["10.0.0.0/8"]}
    ingress = {"load_balancers": {"front": front, "inside": inside}} if node_port else None
    stack.edit(pools={"linux": {"count": 2, **linux}, "web": None}, ingress=ingress)


def members(stack: Stack) -> list[str]:
    """Return the names of the sandbox's memberships, without the cluster's."""
    kind = TARGET.get(stack.cloud.name)
    return sorted(each.name for each in stack.cloud_state.resources(kind) if "-ingress-" in each.name) if kind else []


def deletions(stack: Stack, run: Callable[[], Run]) -> list[str]:
    """Return the types that a run deletes, in the order in which the deletions ended."""
    first = len(stack.log)
    run()
    events = [json.loads(each) for each in stack.log[first:] if each.startswith("{")]
    ended = [found["metadata"] for each in events if (found := each.get("res_outputs_event"))]
    return [each["type"] for each in ended if each["op"].startswith("delete")]


def test_svc_11_targets_follow_machines_and_leave_before_them(stack: Stack) -> None:
    cloud, machine = stack.cloud.name, stack.cloud.machine
    larger = THINGS[cloud].larger[1]
    edit(stack)
    hosts = stack.up().outputs["load_balancers"]
    assert set(hosts) == {"front", "inside"} and all(hosts.values())
    first, machines = members(stack), stack.machines()

    edit(stack, size=larger)
    ended = deletions(stack, stack.up)
    assert all(stack.machines()[name] != machines[name] for name in ("linux-0", "linux-1"))
    if cloud in TARGET:
        each = len(first) // 2
        assert [kind for kind in ended if kind in (TARGET[cloud], machine)] == [*each * [TARGET[cloud]], machine] * 2
        assert members(stack) == first, "machines made anew are behind the load balancers again"

    edit(stack, node_port=30081, swapped=True, size=larger)
    changed = stack.up()
    assert machine not in {key.partition("|")[0] for key in changed.steps}, "another port or kind replaces no machine"
    assert not set(changed.outputs["load_balancers"].values()) & set(hosts.values())
    assert stack.up().steps == {}
    edit(stack, node_port=None, size=larger)
    stack.up()
    assert stack.cloud_state.resources(BALANCER[cloud]) == [] and members(stack) == []
    stack.down()
