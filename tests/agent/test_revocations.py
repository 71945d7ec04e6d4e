"""The admission policy against replaced and revoked machines, and its list."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_announcements import MEMBERS
from tests.agent.test_floods import CONFIG_MAPS, REFUSED, enter
from tests.agent.test_members import NODES
from tests.agent.test_signing import FOREIGN, GIVEN, MARK, NEW, OLD

Module = Callable[[str], ModuleType]
ENDS = time.time() + 3600
HELD: dict[str, Any] = {"instance": OLD, "certificates": {MARK: ENDS}, "before": {FOREIGN: ENDS}}
USER = "system.node.web-0"
UNPLANNED = {"web-9": MEMBERS["web-0"] | {"name": "web-9"}}


class Machines:
    """Machines of the cloud by name, and ids of deleted ones; the cloud answers unless it fails."""

    def __init__(self, module: Module, patch: pytest.MonkeyPatch) -> None:
        self.present, self.deleted, self.fails = {"web-0": OLD}, set[str](), False
        self.asked: list[str] = []
        self.module = module
        patch.setattr(module("machines").compute, "machines", lambda *_: dict(self.present))
        patch.setattr(module("seen").compute, "gone", self.gone)

    def gone(self, run: Any, machine: str) -> bool:
        self.asked.append(machine)
        if self.fails:
            raise self.module("seen").compute.Failure("store-failed", "no answer")
        return machine in self.deleted

    def terminate(self) -> None:
        """Delete the machine web-0 for good."""
        self.present, self.deleted = {}, {OLD}


@pytest.fixture
def machines(module: Module, monkeypatch: pytest.MonkeyPatch) -> Machines:
    """Return the cloud's machines."""
    return Machines(module, monkeypatch)


def listed(module: Module, run: Any, cluster: Cluster, members: dict[str, Any] = MEMBERS) -> set[str]:
    """Return what the list refuses after a round."""
    module("revocations").reconcile(module("seen").Seen(run, cluster, **GIVEN | {"members": members}))
    return {each.removeprefix("X509SHA256.") for each in cluster.objects[REFUSED].get("data") or {}}


@pytest.mark.parametrize("members", [MEMBERS, UNPLANNED], ids=["planned", "its name is scaled away"])
@pytest.mark.parametrize("terminated", [False, True], ids=["it runs", "it is terminated"])
def test_a_revoked_machine_stays_refused_until_it_has_a_successor(
    module: Module, run: Any, cluster: Cluster, machines: Machines, members: dict[str, Any], terminated: bool
) -> None:
    """Register the Node again with the old certificate once the machine is terminated or its name not planned."""
    enter(cluster, **{"web-0": HELD | {"revoked": True}})
    cluster.node("web-0")
    if terminated:
        machines.terminate()
    assert USER in listed(module, run, cluster, members)
    assert not cluster.find(f"{NODES}/web-0")
    successor = {"instance": NEW, "certificates": {}, "before": {MARK: ENDS}}
    cluster.objects.pop(f"{CONFIG_MAPS}/mullion-machines")
    enter(cluster, **{"web-0": successor})
    machines.present = {"web-0": NEW}
    assert listed(module, run, cluster) == {MARK}


@pytest.mark.parametrize("members", [MEMBERS, UNPLANNED], ids=["planned", "its name is scaled away"])
def test_certificates_of_a_deleted_machine_are_refused_before_it_has_a_successor(
    module: Module, run: Any, cluster: Cluster, machines: Machines, members: dict[str, Any]
) -> None:
    """A machine that still drains must be able to write; once it is found deleted, the cloud is not asked again."""
    enter(cluster, **{"web-0": HELD})
    assert listed(module, run, cluster, members) == {FOREIGN}
    machines.terminate()
    machines.asked.clear()
    for _ in range(2):
        assert listed(module, run, cluster, members) == {MARK, FOREIGN, USER}
    assert machines.asked == [OLD]


def test_certificates_of_a_machine_whose_name_another_machine_has_are_refused(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    enter(cluster, **{"web-0": HELD})
    machines.present = {"web-0": NEW}
    assert listed(module, run, cluster) == {MARK, FOREIGN}


ONLY = f"only.{USER}"


@pytest.mark.parametrize(
    ("entry", "founding", "accepted"),
    [
        ({}, 0, f"X509SHA256={MARK}"),
        ({"certificates": {}}, 0, ""),
        ({"certificates": None}, 0, None),
        ({"before": {FOREIGN: time.time() - 1}}, 0, None),
        ({"instance": OLD, "before": {}}, 0, ""),
        ({"founding": -1}, 0, None),
        ({}, 1, None),
        ({"instance": OLD}, 1, None),
        ({}, -1, None),
        ({"founding": -1}, -1, None),
    ],
    ids=[
        *("a successor", "one without a certificate yet", "one from before the record", "after the earlier ones ended"),
        *("a machine that is not entered yet", "an entry of an earlier version", "after a restore"),
        *("after a restore, replaced since the snapshot", "no number of the founding", "neither number"),
    ],
)
def test_only_the_certificates_of_the_present_machine_are_accepted_for_a_replaced_workers_name(
    module: Module,
    run: Any,
    cluster: Cluster,
    machines: Machines,
    entry: dict[str, Any],
    founding: int,
    accepted: str | None,
) -> None:
    """Another form of a listed certificate has another sha256. No machine may be refused whose certificate the record
    may lack."""
    machines.present = {"web-0": NEW}
    enter(cluster, **{"web-0": HELD | {"instance": NEW, "founding": 0} | entry})
    guard(module, run, cluster, founding)
    assert cluster.objects[REFUSED]["data"].get(ONLY) == accepted


def guard(module: Module, run: Any, cluster: Cluster, founding: int) -> None:
    """Run a round of an agent that knows this number of the founding."""
    seen = module("seen").Seen(run, cluster, **GIVEN | {"members": MEMBERS})
    seen.machines.founding = founding
    module("revocations").reconcile(seen)


def test_a_worker_rolled_between_snapshot_and_restore_is_accepted_after_the_restore(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    """The restored record has the machine before it, and lacks its certificate, which is valid for up to a day."""
    enter(cluster, **{"web-0": HELD | {"founding": 0}})
    cluster.node("web-0")
    machines.present = {"web-0": NEW}
    seen = module("seen").Seen(run, cluster, **GIVEN | {"members": MEMBERS})
    seen.machines.founding = 1
    module("announcements").needs_token(seen, "web-0")
    assert seen.machines.issued("web-0").instance == NEW
    guard(module, run, cluster, 1)
    assert ONLY not in cluster.objects[REFUSED]["data"]
    seen.machines.approved("web-0", "csr-1", None)  # once its certificate has ended it joins again by its token
    guard(module, run, cluster, 1)
    assert cluster.objects[REFUSED]["data"][ONLY] == ""


def test_accepted_certificates_follow_the_record_while_the_cloud_does_not_answer(
    module: Module, run: Any, cluster: Cluster, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.present = {"web-0": NEW}
    held = HELD | {"instance": NEW, "founding": 0}
    enter(cluster, **{"web-0": held})
    guard(module, run, cluster, 0)
    cluster.objects.pop(f"{CONFIG_MAPS}/mullion-machines")
    enter(cluster, **{"web-0": held | {"certificates": {MARK: ENDS, "c" * 64: ENDS}}})

    def fails(*_: Any) -> dict[str, str]:
        raise module("seen").compute.Failure("store-failed", "no answer")

    monkeypatch.setattr(module("machines").compute, "machines", fails)
    with pytest.raises(RuntimeError, match="no answer"):
        guard(module, run, cluster, 0)
    assert cluster.objects[REFUSED]["data"][ONLY] == f"X509SHA256={MARK} X509SHA256={'c' * 64}"


def test_a_query_about_one_deleted_machine_that_fails_stops_no_other_entry(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    enter(cluster, **{"web-0": HELD | {"instance": NEW, "founding": 0}, "web-9": HELD})
    machines.present, machines.fails = {"web-0": NEW}, True
    with pytest.raises(RuntimeError, match=r"web-9: .*no answer"):
        guard(module, run, cluster, 0)
    assert cluster.objects[REFUSED]["data"][ONLY] == f"X509SHA256={MARK}"


def test_a_replaced_workers_name_that_is_no_longer_planned_stays_guarded_while_its_machine_drains(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    machines.present = {"web-0": NEW}
    enter(cluster, **{"web-0": HELD | {"instance": NEW, "founding": 0, "certificates": {}}})
    assert ONLY in listed(module, run, cluster)
    machines.present = {}
    assert ONLY in listed(module, run, cluster, UNPLANNED)
    machines.deleted = {NEW}
    for _ in range(2):
        assert USER in listed(module, run, cluster, UNPLANNED), "its successor never got a certificate"


def test_certificates_of_control_planes_are_not_the_only_ones(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    """kubeadm signs the founder's: the record may lack it."""
    machines.present = {"web-0": NEW}
    enter(cluster, **{"web-0": HELD | {"instance": NEW, "founding": 0}})
    assert ONLY in listed(module, run, cluster)
    members = {"web-0": MEMBERS["web-0"] | {"pool": "control-plane"}}
    assert ONLY not in listed(module, run, cluster, members)


def test_the_list_keeps_its_certificates_and_gets_revoked_users_while_the_cloud_does_not_answer(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    enter(
        cluster, **{"web-0": HELD | {"revoked": True}, "web-1": HELD | {"instance": "i-1", "certificates": {"c": ENDS}}}
    )
    cluster.add(CONFIG_MAPS, "mullion-revoked", data={f"X509SHA256.{FOREIGN}": "x"})
    machines.present, machines.fails = {}, True
    with pytest.raises(RuntimeError, match="no answer"):
        listed(module, run, cluster)
    assert set(cluster.objects[REFUSED]["data"]) == {f"X509SHA256.{FOREIGN}", USER}


def test_hundreds_of_machines_that_leave_at_once_do_not_flood_the_cloud(
    module: Module, run: Any, cluster: Cluster, machines: Machines
) -> None:
    enter(cluster, **{f"web-{n}": {"instance": f"i-{n}", "certificates": {f"{n}": ENDS}} for n in range(100)})
    machines.present, machines.deleted = {}, {f"i-{n}" for n in range(100)}
    marks = [len(listed(module, run, cluster)) / 2 for _ in range(11)]
    assert marks == [*range(10, 101, 10), 100], "of each the certificate and the user"
    assert len(machines.asked) == 100


def test_the_policy_is_written_again_only_after_a_change(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module("machines").compute, "machines", lambda run, addresses: {})
    revocations = module("revocations")
    given = GIVEN | {"members": MEMBERS}
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    policy = cluster.objects[f"{revocations.POLICIES}/{revocations.NAME}"]
    policy["spec"]["matchConstraints"]["matchPolicy"] = "Equivalent"  # a default that the API server adds
    policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    cluster.asked.clear()
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    assert cluster.asked == []
    policy["spec"]["validations"][0]["expression"] = "true"
    revocations.reconcile(module("seen").Seen(run, cluster, **given))
    assert cluster.asked == [f"PUT {revocations.POLICIES}/{revocations.NAME}"]
