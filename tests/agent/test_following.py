"""Machines follow the pointer one at a time, each after a snapshot, and continue after any interruption."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.node.agent import TURN
from tests.agent.machines import ControlPlanes

ALL = ("control-plane-0", "control-plane-1", "control-plane-2")
NOTE = {"serial": 2, "snapshot": "etcd/x.db", "started": True, "before": 1}

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "all is as it shall be": ({}, "rest"),
    "another bundle, and nobody's turn": ({"changed": True}, "take"),
    "another bundle that is refused": ({"changed": True, "refused": "two minors"}, "rest"),
    "another's turn": ({"changed": True, "holder": "b"}, "wait"),
    "somebody is not ready": ({"changed": True, "unhealthy": "b"}, "wait"),
    "another configuration": ({"applied": False}, "take"),
    "a certificate that ends soon": ({"renewal": True}, "take"),
    "a newer key of encryption at rest": ({"rekey": True}, "take"),
    "a turn whose note was lost": ({"holder": "a"}, "take"),
    "no snapshot yet": ({"holder": "a", "turn": NOTE | {"snapshot": ""}, "changed": True}, "snapshot"),
    "a snapshot": ({"holder": "a", "turn": NOTE, "changed": True}, "switch"),
    "its certificates": ({"holder": "a", "turn": NOTE | {"started": False}, "renewal": True}, "renew"),
    "certificates, and kubeadm is at work": ({"holder": "a", "turn": NOTE, "renewal": True}, "watch"),
    "certificates that end within days, and no API": ({"urgent": True, "holder": "?", "unhealthy": "no API"}, "renew"),
    "ended certificates, and kubeadm is at work": ({"holder": "a", "turn": NOTE, "urgent": True}, "watch"),
    "ended certificates, and kubeadm fails": (
        {"holder": "a", "turn": NOTE, "urgent": True, "ended": True, "trouble": "kubeadm-upgrade"},
        "renew",
    ),
    "certificates that end within days, and kubeadm fails": (
        {"holder": "a", "turn": NOTE, "urgent": True, "trouble": "kubeadm-upgrade"},
        "watch",
    ),
    "a newer key, in its turn": ({"holder": "a", "turn": NOTE | {"started": False}, "rekey": True}, "rekey"),
    "a watch that a revoked machine may have": ({"restart": True}, "take"),
    "a watch, and another bundle that is refused": (
        {"restart": True, "changed": True, "refused": "two minors"},
        "take",
    ),
    "such a watch, in its turn": ({"holder": "a", "turn": NOTE | {"started": False}, "restart": True}, "restart"),
    "such a watch, and the executor runs": ({"holder": "a", "turn": NOTE, "restart": True}, "watch"),
    "a restart that packages ask for": ({"reboot": True}, "take"),
    "a restart, and another machine is not ready": ({"reboot": True, "unhealthy": "b"}, "wait"),
    "a restart in its turn": ({"holder": "a", "turn": NOTE | {"started": False}, "reboot": True}, "reboot"),
    "a restart in its turn, and another machine is not ready": (
        {"holder": "a", "turn": NOTE | {"started": False}, "reboot": True, "unhealthy": "b"},
        "watch",
    ),
    "a restart, while kubeadm runs": ({"holder": "a", "turn": NOTE, "reboot": True}, "watch"),
    "not started": ({"holder": "a", "turn": NOTE | {"started": False}}, "start"),
    "under way": ({"holder": "a", "turn": NOTE}, "watch"),
    "failed": ({"holder": "a", "turn": NOTE, "trouble": "addons: E401"}, "watch"),
    "done, and kubeadm did nothing": ({"holder": "a", "turn": NOTE, "done": True, "applied": False}, "watch"),
    "done, and somebody is not ready": ({"holder": "a", "turn": NOTE, "done": True, "unhealthy": "b"}, "watch"),
    "done, and all are ready": ({"holder": "a", "turn": NOTE, "done": True}, "give"),
    "a newer pointer in a turn that failed": ({"holder": "a", "turn": NOTE, "trouble": "x", "changed": True}, "switch"),
}


@pytest.mark.parametrize(("sight", "action"), CASES.values(), ids=CASES)
def test_the_state_decides_the_one_next_action(
    module: Callable[[str], ModuleType], sight: dict[str, Any], action: str
) -> None:
    turns = module("turns")
    assert turns.decide(turns.Sight("a", **sight))[0] == action


@pytest.mark.parametrize(
    ("have", "want", "refused"),
    [
        ("1.36.3", "1.36.3", False),
        ("1.36.3", "1.36.10", False),
        ("1.36.3", "1.37.1", False),
        ("1.9.0", "1.10.0", False),
        ("1.35.3", "1.37.1", True),
        ("1.36.3", "1.36.2", True),
        ("1.37.1", "1.36.3", True),
        ("1.37.1", "2.0.0", True),
    ],
)
def test_an_upgrade_is_one_minor_version_and_never_a_downgrade(
    module: Callable[[str], ModuleType], have: str, want: str, refused: bool
) -> None:
    assert bool(module("turns").hop(have, want)) == refused


@pytest.fixture
def planes(control_planes: ControlPlanes) -> ControlPlanes:
    """Return three healthy control planes that match the pointer."""
    control_planes.rounds(3)
    assert control_planes.log == []
    return control_planes


def test_machines_change_one_after_the_other_each_after_a_snapshot(planes: ControlPlanes) -> None:
    """CP: the first applies, the others follow, and the last updates kube-proxy; one at a time."""
    digest = planes.point(2, "1.37.1", "second")
    planes.rounds()
    assert planes.reached(digest, "second")
    assert planes.log == [
        *(f"control-plane-0 {each}" for each in ("snapshot", "runs", "apply")),
        *(f"control-plane-1 {each}" for each in ("snapshot", "runs", "node")),
        *(f"control-plane-2 {each}" for each in ("snapshot", "runs", "node", "kube-proxy")),
    ]
    kept = [each for each in planes.cloud.objects if each.startswith("/snapshots/etcd/")]
    assert not [path for path in planes.cluster.objects if "node-autoapprove" in path], "kubeadm has bound them again"
    assert kept
    assert all("-2." in each for each in kept), "the snapshot's name has the serial it was made before"


@pytest.mark.parametrize("effect", range(1, 11))
def test_an_upgrade_continues_after_a_power_loss_at_any_effect(planes: ControlPlanes, effect: int) -> None:
    digest = planes.point(2, "1.37.1", "second")
    planes.cut_at = effect
    planes.rounds()
    assert planes.reached(digest, "second"), planes.log
    assert planes.cut_at == -1, "it was cut"
    machines = [line.split(" ", 1)[0] for line in planes.log]
    assert machines == sorted(machines), "one at a time, also after a cut"


def test_a_failure_on_one_machine_stops_the_others_until_a_newer_pointer(planes: ControlPlanes) -> None:
    planes.broken = "second"
    planes.point(2, "1.36.3", "second")
    planes.rounds()
    assert {line.split(" ")[0] for line in planes.log} == {"control-plane-0"}
    assert planes.machines["control-plane-0"].says == "kubeadm-upgrade: it is broken"
    assert planes.machines["control-plane-1"].says == "control-plane-0 has its turn"
    digest = planes.point(3, "1.36.3", "third")
    planes.rounds()
    assert planes.reached(digest, "third")


def test_kubeadm_does_not_begin_while_a_member_of_etcd_is_too_old(planes: ControlPlanes) -> None:
    planes.etcd["control-plane-1"] = "3.5.24"
    machine = planes.machines["control-plane-0"]
    machine.file("/etc/kubernetes/tmp/kubeadm-backup-etcd-2026-01-01-00-00-00/etcd").touch()
    planes.point(2, "1.37.1", "second")
    with pytest.raises(Exception, match=r"control-plane-1 has 3\.5\.24"):
        planes.rounds()
    assert planes.log == ["control-plane-0 snapshot", "control-plane-0 runs"]
    assert copies(machine), "kubeadm makes no other copy of etcd's data"


def test_kubeadms_copies_of_etcd_do_not_fill_the_root_disk(planes: ControlPlanes) -> None:
    """Every `kubeadm upgrade` copies etcd's data to the root disk and keeps the copy (kubernetes issue 125357)."""
    machine = planes.machines["control-plane-0"]
    others = [machine.file(f"/etc/kubernetes/tmp/{name}/file") for name in OTHERS]
    for file in others:
        file.touch()
    tried = list[list[str]]()
    back_up = machine.back_up

    def spied() -> None:
        tried.append(copies(machine))
        back_up()

    planes.patch.setattr(machine, "back_up", spied)
    for serial in range(2, 5):
        digest = planes.point(serial, "1.36.3", f"configuration {serial}")
        planes.rounds()
        assert planes.reached(digest, f"configuration {serial}")
        assert len(copies(machine)) == 1
    assert tried == [[], [], []], "the disk has room for kubeadm's new copy"
    assert all(file.exists() for file in others), "kubeadm did not make these"
    for each in ("2026-01-01-00-00-00", "2026-01-02-00-00-00"):  # of agents that deleted none
        machine.file(f"/etc/kubernetes/tmp/kubeadm-backup-etcd-{each}/etcd").touch()
    newest = max(copies(machine))
    machine.file(TURN).write_text("{}")  # of a turn that changes nothing kubeadm knows of
    machine.execute()
    assert copies(machine) == [newest]


OTHERS = ("kubeadm-backup-etcd-mine", "kubeadm-backup-etcd-2026-01-01-00-00-00.old", "backup")


def copies(machine: Any) -> list[str]:
    """Return kubeadm's copies of etcd's data on a machine."""
    found = machine.file("/etc/kubernetes/tmp/x").parent.glob("kubeadm-backup-etcd-*")
    return sorted(each.name for each in found if each.name not in OTHERS)


def test_no_machine_begins_while_another_is_not_ready(planes: ControlPlanes) -> None:
    planes.cluster.unready = {"10.20.64.12"}
    planes.point(2, "1.36.3", "second")
    planes.rounds(5)
    assert planes.log == []
    assert planes.machines["control-plane-0"].says.startswith("control-plane-2 is not ready")


def test_a_jump_of_two_minor_versions_is_refused_before_any_change(planes: ControlPlanes) -> None:
    planes.point(2, "1.38.0", "second")
    planes.rounds(5)
    assert planes.log == []
    assert "one minor version at a time" in planes.machines["control-plane-0"].says


def test_a_bundle_with_another_digest_than_the_pointers_is_not_installed(planes: ControlPlanes) -> None:
    sha256 = planes.point(2, "1.36.3", "second")
    planes.cloud.objects[f"/bundles/{sha256}.zip"] = b"another"
    machine = planes.machines["control-plane-0"]
    for _ in range(2):
        machine.round()  # the turn, the snapshot
    with pytest.raises(Exception, match="the bundle has sha256"):
        machine.round()
    assert machine.current() == planes.first[1]


def test_a_bundle_larger_than_any_of_ours_is_not_read_whole(planes: ControlPlanes) -> None:
    sha256 = planes.point(2, "1.36.3", "second")
    following = importlib.import_module("agent.following")
    planes.cloud.objects[f"/bundles/{sha256}.zip"] = bytes(following.LARGEST_BUNDLE + 1)
    machine = planes.machines["control-plane-0"]
    for _ in range(2):
        machine.round()  # the turn, the snapshot
    with pytest.raises(Exception, match=rf"{sha256}\.zip has more than {following.LARGEST_BUNDLE} bytes"):
        machine.round()
    assert machine.current() == planes.first[1]


def test_a_bundle_with_only_a_changed_script_runs_no_kubeadm(planes: ControlPlanes) -> None:
    digest = planes.point(2, "1.36.4", "first")
    planes.rounds()
    assert planes.reached(digest, "first")
    assert not [line for line in planes.log if "apply" in line or "node" in line]


def test_the_turn_of_a_machine_that_is_no_longer_a_member_is_free(planes: ControlPlanes) -> None:
    memory = planes.cluster.objects["/api/v1/namespaces/kube-system/configmaps/mullion-agent"]
    memory["data"]["turn"] = "control-plane-7"
    digest = planes.point(2, "1.36.3", "second")
    planes.rounds()
    assert planes.reached(digest, "second")


def test_a_turn_continues_without_the_api(planes: ControlPlanes) -> None:
    """The newer bundle may repair the machine's API."""
    (machine, *_) = planes.machines.values()
    digest = planes.point(2, "1.36.3", "second")
    for _ in range(2):
        machine.round()
    cluster, planes.cluster = planes.cluster, None  # type: ignore[assignment]
    for _ in range(2):
        machine.round()
    assert machine.current() == digest
    planes.cluster = cluster
    planes.rounds()
    assert planes.reached(digest, "second")
    other = planes.machines["control-plane-1"]
    planes.cluster = None  # type: ignore[assignment]
    planes.point(3, "1.36.3", "third")
    other.round()
    assert other.current() == digest, "without a turn, and without an API, nothing is begun"
