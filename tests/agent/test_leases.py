"""One agent is active; another takes over if the Lease did not change for its duration, whatever the clocks say."""

from collections.abc import Callable
from types import ModuleType

from tests.agent.cluster import Cluster

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mullion-agent"


def test_the_first_agent_keeps_the_lease_and_the_second_waits(
    module: Callable[[str], ModuleType], cluster: Cluster
) -> None:
    now = [0.0]
    first, second = (module("leases").Lease(name, clock=lambda: now[0]) for name in ("cp-0", "cp-1"))
    for at in range(0, 600, 5):
        now[0] = float(at)
        assert first.hold(cluster)
        assert not second.hold(cluster)
    spec = cluster.objects[PATH]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("cp-0", 0)


def test_a_silent_holder_loses_the_lease_after_its_duration_by_the_other_agents_clock(
    module: Callable[[str], ModuleType], cluster: Cluster
) -> None:
    now = [0.0]
    first, second = (module("leases").Lease(name, clock=lambda: now[0]) for name in ("cp-0", "cp-1"))
    first.hold(cluster)
    cluster.objects[PATH]["spec"]["renewTime"] = "2001-01-01T00:00:00.000000Z"  # a clock that is far off
    taken = []
    for at in (0, 30, 60, 61):
        now[0] = float(at)
        taken.append(second.hold(cluster))
    assert taken == [False, False, False, True]
    assert not first.hold(cluster)
    assert cluster.objects[PATH]["spec"]["leaseTransitions"] == 1


def test_of_two_agents_that_take_the_lease_at_once_one_gets_it(
    module: Callable[[str], ModuleType], cluster: Cluster
) -> None:
    first, second = (module("leases").Lease(name) for name in ("cp-0", "cp-1"))
    find = cluster.find
    cluster.find = lambda path: None if path == PATH else find(path)  # both read before either writes
    assert [first.hold(cluster), second.hold(cluster)] == [True, False]
