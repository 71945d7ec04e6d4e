"""`mullion verify --reboot`: reboots each machine of a booted sandbox, workers first, and waits until it is ready."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from operations.commands import reboot_all, sandbox_boot
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site
from sandbox.boot import machine_status
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.cloud_state import CloudState
from tests.sandbox.boot.cloud_states import has

MACHINES = ("control-plane-0", "linux-0", "web-0", "web-1")


@pytest.fixture
def rebooted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is rebooted, in order, in a booted sandbox with one machine that cannot boot."""
    order: list[str] = []
    cloud_state = CloudState(tmp_path / "world.db")
    machine_status.write_statuses(
        cloud_state,
        {
            name: MachineStatus(name, "10.20.0.9", "not booted" if name == "web-1" else "on", "", DesiredPower())
            for name in MACHINES
        },
    )  # fmt: skip
    has(cloud_state, **{name: name for name in MACHINES})
    cloud_state.close()

    def change(name: str, machine: str, *, quiet: bool, boots: int) -> None:
        order.append(machine)

    def record(cloud_state: CloudState, instance: str) -> Mapping[str, Any]:
        return {"time": order.count(instance), "state": "registered" if instance == "web-0" else "ready"}

    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:1")
    monkeypatch.setattr(reboot_all, "cloud_state_file", lambda name: tmp_path / "world.db")
    monkeypatch.setattr(sandbox_boot, "change", change)
    monkeypatch.setattr(sandbox_boot, "record", record)
    return order


def test_reboot_all_reboots_workers_first_and_skips_machines_that_are_not_booted(rebooted: list[str]) -> None:
    reboot_all.reboot_all("small")
    assert rebooted == ["linux-0", "web-0", "control-plane-0"]


def test_reboot_all_stops_at_a_machine_that_is_not_ready_again(
    rebooted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sandbox_boot, "record", lambda cloud_state, instance: {"time": len(rebooted), "state": "running"}
    )
    monkeypatch.setattr(reboot_all, "REBOOT_SECONDS", 0)
    with pytest.raises(Stop, match="linux-0 is not ready 0 s after its reboot: running"):
        reboot_all.reboot_all("small")
    assert rebooted == ["linux-0"]


def test_reboot_all_says_how_to_boot_a_sandbox_that_is_not_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot_site, "api", lambda name: "")
    with pytest.raises(Stop, match="mullion sandbox boot small") as stop:
        reboot_all.reboot_all("small")
    assert stop.value.code == Exit.USAGE
