"""Machines restart for new kernels one after the other, within the window, while all others are ready."""

import importlib
import os
import time
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.agent.machines import ControlPlanes

ALWAYS = {"begin": 0, "minutes": 1440}
MEMORY = "/api/v1/namespaces/kube-system/configmaps/mullion-agent"


@pytest.fixture
def planes(control_planes: ControlPlanes) -> ControlPlanes:
    """Return three control planes that may restart at any time, and whose packages ask for it."""
    windowed(control_planes, ALWAYS)
    ask(control_planes)
    return control_planes


def windowed(planes: ControlPlanes, window: dict[str, int]) -> None:
    """Let the executors write this window into the agents' configuration."""
    planes.window = window
    for machine in planes.machines.values():
        machine.execute()


def ask(planes: ControlPlanes, uptime: float = 86400.0, asked: float | None = None) -> None:
    """Make packages of all machines ask for a restart."""
    for machine in planes.machines.values():
        machine.file("/run/reboot-required").write_text("*** System restart required ***\n")
        if asked is not None:
            os.utime(machine.file("/run/reboot-required"), (asked, asked))
        machine.file("/proc/uptime").write_text(f"{uptime:.2f} 20.00\n")


def rebooted(planes: ControlPlanes) -> list[str]:
    return [line.split()[0] for line in planes.log if line.endswith(" reboots")]


def test_machines_restart_one_after_the_other_each_after_a_snapshot(planes: ControlPlanes) -> None:
    planes.rounds()
    assert planes.log == [
        f"control-plane-{index} {each}" for index in range(3) for each in ("snapshot", "reboots", "runs")
    ]
    assert not planes.cluster.objects[MEMORY]["data"].get("turn"), "the last turn has ended"


@pytest.mark.parametrize("effect", range(1, 8))
def test_restarts_continue_after_a_power_loss_at_any_effect(planes: ControlPlanes, effect: int) -> None:
    planes.cut_at = effect
    planes.rounds()
    assert planes.cut_at == -1, "it was cut"
    assert set(rebooted(planes)) == set(planes.machines)
    machines = [line.split()[0] for line in planes.log]
    assert machines == sorted(machines), "one at a time, also after a cut"
    assert not planes.cluster.objects[MEMORY]["data"].get("turn")


def test_no_machine_restarts_without_a_window_outside_of_it_or_soon_after_its_boot(planes: ControlPlanes) -> None:
    minute = int(time.time() // 60) % 1440
    for window in ({}, {"begin": (minute + 60) % 1440, "minutes": 120}, {"begin": (minute - 90) % 1440, "minutes": 60}):
        windowed(planes, window)
        planes.rounds(4)
    windowed(planes, ALWAYS)
    ask(planes, uptime=3599.0)
    planes.rounds(4)
    assert planes.log == []
    ask(planes, uptime=3600.0)
    planes.rounds()
    assert rebooted(planes) == list(planes.machines)


def test_no_machine_restarts_while_another_is_not_ready(planes: ControlPlanes) -> None:
    planes.cluster.unready = {"10.20.64.12"}
    planes.rounds(4)
    assert planes.log == []
    assert planes.machines["control-plane-0"].says.startswith("control-plane-2 is not ready")


def test_a_machine_that_stops_being_ready_before_the_restart_keeps_the_others_up(planes: ControlPlanes) -> None:
    machine = planes.machines["control-plane-0"]
    for _ in range(2):
        machine.round()  # the turn, the snapshot
    planes.cluster.unready = {"10.20.64.11"}
    planes.rounds(4)
    assert rebooted(planes) == []
    planes.cluster.unready = set()
    planes.rounds()
    assert rebooted(planes) == list(planes.machines)


def test_an_upgrade_comes_before_a_restart_in_the_same_turn(planes: ControlPlanes) -> None:
    digest = planes.point(2, "1.37.1", "second")
    planes.rounds(40)
    assert planes.reached(digest, "second")
    assert sorted(rebooted(planes)) == list(planes.machines)


@pytest.mark.parametrize(("begin", "minutes", "clock", "opened"), [
    (120, 60, "02:00", True), (120, 60, "02:59", True), (120, 60, "03:00", False), (120, 60, "01:59", False),
    (1410, 60, "23:30", True), (1410, 60, "00:29", True), (1410, 60, "00:30", False), (1410, 60, "12:00", False),
])  # fmt: skip
def test_a_window_may_reach_over_midnight(
    module: Callable[[str], ModuleType], begin: int, minutes: int, clock: str, opened: bool
) -> None:
    now = 20_000 * 86400 + int(clock[:2]) * 3600 + int(clock[3:]) * 60
    assert module("reboots").is_open({"begin": begin, "minutes": minutes}, now) == opened


def test_the_record_says_since_when_and_an_overdue_restart_is_an_error(planes: ControlPlanes) -> None:
    reboots = importlib.import_module("agent.reboots")
    machine, now = planes.machines["control-plane-0"], 1_700_000_000.0
    ask(planes, asked=now - 6 * 86400)
    assert reboots.reconcile(machine.run, {"reboots": ALWAYS}, now) == {"required_since": "2023-11-08T22:13:20Z"}
    ask(planes, asked=now - 8 * 86400)
    assert reboots.reconcile(machine.run, {}, now) == {"required_since": "2023-11-06T22:13:20Z"}
    with pytest.raises(Exception, match="have asked for a restart since 2023-11-06T22:13:20Z, and none has happened"):
        reboots.reconcile(machine.run, {"reboots": ALWAYS}, now)
    machine.file("/run/reboot-required").unlink()
    assert reboots.reconcile(machine.run, {"reboots": ALWAYS}, now) == {}
