"""Which agent has the Lease when a machine's own API server is not ready."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.agent.cluster import Cluster
from tests.agent.test_rounds import MEMBERS, member, publish, record, start
from tests.cloud_init.cloud import FakeCloud

__all__ = ["start"]


def test_an_agent_without_an_etcd_of_its_own_leaves_the_lease_to_another(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, module: Callable[[str], ModuleType]
) -> None:
    """Its calls reach other API servers, so it would keep the Lease, and nobody would take snapshots."""
    publish(cloud, 6, members=[*MEMBERS, member("control-plane-1", "control-plane", "10.20.64.11")])
    now = [0.0]
    running, other = start(), module("leases").Lease("control-plane-1", clock=lambda: now[0])
    running.round()
    assert record(cloud)["agent"]["active"] is True
    cluster.unready = {"10.20.64.10"}
    assert not other.hold(cluster)
    running.round()
    now[0] = 61.0
    assert other.hold(cluster)
    said = record(cloud)
    assert said["agent"]["active"] is False
    assert said["agent_errors"].startswith("lease: RuntimeError: another machine's agent has to take the Lease")


def test_the_only_control_plane_keeps_the_lease_while_it_is_not_ready(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    running = start()
    running.round()
    cluster.unready = {"10.20.64.10"}
    running.round()
    assert record(cloud)["agent"]["active"] is True
