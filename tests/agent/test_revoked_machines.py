"""Revocations outlast a restore: the record of machines in etcd is then an older one."""

import json
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.conftest import KEY
from tests.agent.test_announcements import MEMBERS
from tests.agent.test_floods import RECORD, enter, entry
from tests.agent.test_revocations import Machines, machines
from tests.agent.test_signing import FOREIGN, GIVEN, MARK, NEW, OLD
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

__all__ = ["machines"]
Module = Callable[[str], ModuleType]
OBJECT = "/snapshots/revoked.json"
ENDS = time.time() + 3600
HELD: dict[str, Any] = {"instance": OLD, "certificates": {MARK: ENDS}, "before": {}, "asked": [], "revoked": False}
EARLIER = "i-0earlier0000000"


@pytest.fixture
def started(module: Module, run: Any, cluster: Cluster) -> Callable[[], Callable[[], None]]:
    """Return a function that starts an agent and returns its round."""

    def start() -> Callable[[], None]:
        list_of = module("revoked_machines").RevokedMachines(run)
        given = GIVEN | {"members": MEMBERS}
        return lambda: list_of.reconcile(module("seen").Seen(run, cluster, **given))

    return start


def restore(cluster: Cluster, **members: dict[str, Any]) -> None:
    """Bring back an older record of machines."""
    cluster.objects.pop(RECORD, None)
    enter(cluster, **members)


@EACH_CLOUD
def test_a_machine_is_revoked_again_after_a_restore_from_before_the_revocation(
    started: Callable[[], Callable[[], None]], cluster: Cluster, cloud: FakeCloud, machines: Machines
) -> None:
    enter(cluster, **{"web-0": HELD, "web-1": HELD | {"instance": "i-1"}})
    agent = started()
    agent()
    assert OBJECT not in cloud.objects, "nothing was revoked"
    restore(cluster, **{"web-0": HELD | {"revoked": True}, "web-1": HELD | {"instance": "i-1"}})
    agent()
    restore(cluster, **{"web-0": HELD | {"certificates": {}}, "web-1": HELD | {"instance": "i-1"}})
    started()()
    assert entry(cluster, "web-0") == HELD | {"revoked": True}
    assert entry(cluster, "web-1")["revoked"] is False
    assert not cloud.refused()


@pytest.mark.parametrize("earlier", [{}, {"web-0": HELD | {"instance": EARLIER, "certificates": {FOREIGN: ENDS}}}])
def test_a_revoked_machine_that_joined_after_the_snapshot_is_entered(
    started: Callable[[], Callable[[], None]], cluster: Cluster, machines: Machines, earlier: dict[str, Any]
) -> None:
    enter(cluster, **{"web-0": HELD | {"revoked": True}})
    started()()
    restore(cluster, **earlier)
    started()()
    assert entry(cluster, "web-0") == HELD | {"revoked": True, "before": {FOREIGN: ENDS} if earlier else {}}


@pytest.mark.parametrize("earlier", [{}, {"web-0": HELD | {"instance": EARLIER, "certificates": {}}}])
def test_the_certificates_stay_refused_once_the_revoked_machine_has_a_successor(
    started: Callable[[], Callable[[], None]], cluster: Cluster, machines: Machines, earlier: dict[str, Any]
) -> None:
    """The successor has the same user, so it must not be revoked."""
    enter(cluster, **{"web-0": HELD | {"revoked": True}})
    agent = started()
    agent()
    machines.present = {"web-0": NEW}
    restore(cluster, **{"web-0": HELD | {"instance": NEW, "certificates": {}, "before": {MARK: ENDS}}})
    agent()
    restore(cluster, **earlier)
    started()()
    found = entry(cluster, "web-0")
    assert (found["instance"], found["before"], found["revoked"]) == (EARLIER if earlier else "", {MARK: ENDS}, False)


def test_a_machine_leaves_the_list_once_it_has_a_successor_and_its_certificates_have_ended(
    started: Callable[[], Callable[[], None]], cluster: Cluster, cloud: FakeCloud, machines: Machines
) -> None:
    ended = HELD | {"certificates": {MARK: time.time() - 1}, "revoked": True}
    enter(cluster, **{"web-0": ended})
    agent = started()
    agent()
    assert list(json.loads(cloud.objects[OBJECT])["revoked"]) == [OLD], "it exists and could join again"
    machines.present = {"web-0": NEW}
    restore(cluster, **{"web-0": HELD | {"instance": NEW}})
    agent()
    assert json.loads(cloud.objects[OBJECT])["revoked"] == {}


@pytest.mark.parametrize("forged", [b"nonsense", b'{"revoked": {}, "mac": "0"}'])
def test_a_list_without_the_clusters_mac_is_reported_and_replaced(
    started: Callable[[], Callable[[], None]],
    cluster: Cluster,
    cloud: FakeCloud,
    machines: Machines,
    module: Module,
    forged: bytes,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Replace the list to have machines revoked, or forgotten while the cluster runs."""
    enter(cluster, **{"web-0": HELD | {"revoked": True}})
    cloud.objects[OBJECT] = forged
    started()()
    assert "a restore may have forgotten revoked machines" in capsys.readouterr().out
    documents = module("documents")
    assert set(documents.opened(cloud.objects[OBJECT], KEY, documents.REVOKED)["revoked"]) == {OLD}


def test_the_list_is_signed_again_with_a_renewed_key(
    started: Callable[[], Callable[[], None]],
    cluster: Cluster,
    cloud: FakeCloud,
    machines: Machines,
    module: Module,
    run: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    enter(cluster, **{"web-0": HELD | {"revoked": True}})
    agent = started()
    agent()
    cloud.secrets["desired-state"], run.stored = "another key", {}
    agent()
    documents = module("documents")
    assert set(documents.opened(cloud.objects[OBJECT], "another key", documents.REVOKED)["revoked"]) == {OLD}
    assert "ignored" not in capsys.readouterr().out


def test_an_agent_that_becomes_active_drops_nothing_that_another_has_listed(
    started: Callable[[], Callable[[], None]], cluster: Cluster, cloud: FakeCloud, machines: Machines
) -> None:
    first, second = started(), started()
    enter(cluster, **{"web-0": HELD})
    second()
    restore(cluster, **{"web-0": HELD | {"revoked": True}})
    first()
    after = {"web-0": HELD | {"instance": NEW, "certificates": {}, "before": {MARK: ENDS}}}
    restore(cluster, **after, **{"web-1": HELD | {"instance": "i-1", "revoked": True}})
    second()
    assert set(json.loads(cloud.objects[OBJECT])["revoked"]) == {OLD, "i-1"}


def test_a_machine_of_a_cluster_that_is_older_than_the_record_keeps_unknown_certificates(
    started: Callable[[], Callable[[], None]], cluster: Cluster, machines: Machines
) -> None:
    enter(cluster, **{"web-0": HELD | {"certificates": None, "revoked": True}})
    started()()
    assert entry(cluster, "web-0")["certificates"] is None
